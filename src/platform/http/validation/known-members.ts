import type { Type } from '@nestjs/common';
import { ServiceError } from '../../errors/service-error.js';
import { rulesOf } from './dto-rules.js';

/** class-transformer and class-validator take up to 5 µs for each. */
const MAX_VALUES = 1_000;

/** Of a name in a message. */
const MAX_NAME_LENGTH = 100;

/** A handler that merges objects could change the prototypes of others through them. */
const PROTOTYPE_KEYS = ['__proto__', 'constructor', 'prototype'];

type JsonObject = Record<string, unknown>;

/** Returns whether a value is an object and not an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Selects the members of a body, a query or a path for which its DTO classes have a rule. The others
 * would be removed in the end, but only after class-transformer has copied them, in a time that is
 * quadratic in their number.
 *
 * It counts the values that are left: the properties of DTOs, the members of other objects, and the
 * items of arrays that are objects or arrays.
 */
export class KnownMembers {
  private values = 0;
  /** The path of the first property with text that PostgreSQL cannot store. */
  private unstorable: string | undefined;

  /** @param isStrict whether to reject members without a rule */
  constructor(private readonly isStrict = false) {}

  /**
   * Returns a copy of an object without the members that its class has no rule for. A value that is
   * not a DTO and has too many members is empty in the copy, so that its rules can still reject it.
   * Call `checkSize` and `checkText` after the validation.
   *
   * @param path of the object in the request, with a dot at its end
   * @throws ServiceError invalid_request if the DTOs have too many properties
   */
  of(value: JsonObject, dto: Type, path = ''): JsonObject {
    const { members, readsOtherMembers } = rulesOf(dto);
    if (this.isStrict) rejectOthers(value, new Map(members));
    // A missing property is validated as well.
    this.values += members.length;
    this.checkSize();
    // class-transformer copies own members. `@Transform()` can read the others of the prototype.
    const known = (readsOtherMembers ? Object.create(value) : {}) as JsonObject;
    for (const [name, nested] of members) {
      if (!Object.hasOwn(value, name)) continue;
      known[name] = nested
        ? this.ofNested(value[name], nested, path + name)
        : this.bounded(value[name], path + name);
    }
    return known;
  }

  /** @throws ServiceError invalid_request if text contains NUL or a lone surrogate */
  checkText(): void {
    if (this.unstorable === undefined) return;
    const message = `${this.unstorable} must not contain NUL or a lone surrogate.`;
    throw new ServiceError('invalid_request', message);
  }

  /** @throws ServiceError invalid_request if the values are too many */
  checkSize(): void {
    if (this.values <= MAX_VALUES) return;
    const max = MAX_VALUES.toLocaleString('en-US');
    const message = `The request has more than ${max} values in its nested objects.`;
    throw new ServiceError('invalid_request', message);
  }

  private ofNested(value: unknown, dto: Type, path: string): unknown {
    if (Array.isArray(value)) {
      return value.map((item, index) => this.ofNested(item, dto, `${path}.${index}`));
    }
    return isObject(value) ? this.of(value, dto, `${path}.`) : value;
  }

  private bounded(value: unknown, path: string): unknown {
    this.noteText(value, path);
    if (typeof value !== 'object' || value === null) return value;
    this.countMembers(value, path);
    if (this.values <= MAX_VALUES) return value;
    return Array.isArray(value) ? [] : {};
  }

  /** Counts the members and the items that are objects or arrays, up to the limit. */
  private countMembers(value: object, path: string): void {
    for (const key of PROTOTYPE_KEYS) {
      if (Object.hasOwn(value, key)) Reflect.deleteProperty(value, key);
    }
    const members: unknown[] = Object.values(value);
    if (!Array.isArray(value)) {
      this.values += members.length;
      if (this.values <= MAX_VALUES) this.noteText(Object.keys(value).join('.'), path);
    }
    for (const member of members) {
      if (this.values > MAX_VALUES) return;
      this.noteText(member, path);
      if (typeof member !== 'object' || member === null) continue;
      this.values++;
      this.countMembers(member, path);
    }
  }

  private noteText(value: unknown, path: string): void {
    if (typeof value !== 'string') return;
    if (!value.isWellFormed() || value.includes('\0')) this.unstorable ??= path;
  }
}

function rejectOthers(value: JsonObject, members: ReadonlyMap<string, unknown>): void {
  const other = Object.keys(value).find((name) => !members.has(name));
  if (other === undefined) return;
  const name = other.slice(0, MAX_NAME_LENGTH);
  throw new ServiceError('invalid_request', `The property ${name} is not allowed.`);
}
