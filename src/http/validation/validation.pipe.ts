import {
  type ArgumentMetadata,
  Injectable,
  type Type,
  ValidationPipe as NestValidationPipe,
} from '@nestjs/common';
import * as classTransformer from 'class-transformer';
import * as classValidator from 'class-validator';
import type { ValidationError } from 'class-validator';
import { ServiceError } from '../../errors/service-error.js';
import {
  isNestedRule,
  mayReadOtherMembers,
  requireNestedObjects,
  rulesOf,
  simpleConversions,
  sortRules,
  typeMetadataOf,
  validatedProperties,
} from './dto-metadata.js';
import { validationMessage } from './validation-message.js';

/**
 * NestJS' ValidationPipe with the messages of this service. It converts and validates DTOs of
 * bodies, queries and paths by their class-transformer and class-validator decorators. Properties
 * without a rule are removed before the conversion, so that they cost nothing.
 * @throws ServiceError invalid_request that lists the first 50 invalid properties
 */
@Injectable()
export class ValidationPipe extends NestValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      stopAtFirstError: true,
      // The messages depend on whether a value was sent.
      validationError: { value: true, target: true },
      validatorPackage: classValidator,
      transformerPackage: classTransformer,
      exceptionFactory: invalidRequest,
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { type, metatype, data } = metadata;
    if (metatype === String && typeof value === 'string' && value.includes('\0')) {
      // PostgreSQL rejects NUL in text, and a client must not cause a 500.
      throw new ServiceError('invalid_request', `${data} must not contain NUL.`);
    }
    if (!metatype || !this.toValidate(metadata)) {
      return super.transform(value, metadata) as Promise<unknown>;
    }
    if (value !== undefined && !isObject(value)) {
      const subject = data ?? `The request ${type}`;
      throw new ServiceError('invalid_request', `${subject} must be a JSON object.`);
    }
    const dto = simpleDto(value ?? {}, metatype);
    if (!dto) return super.transform(knownMembers(value, metatype), metadata) as Promise<unknown>;
    const errors = await this.validate(dto, this.validatorOptions);
    if (errors.length > 0) throw invalidRequest(errors);
    return dto;
  }

  /** Overrides NestValidationPipe.toValidate: a path parameter of type bigint is not a DTO. */
  protected override toValidate(metadata: ArgumentMetadata): boolean {
    return (metadata.metatype as unknown) !== BigInt && super.toValidate(metadata);
  }

  /** Overrides NestValidationPipe.transformPrimitive, which would convert `0x10` for a pipe. */
  protected override transformPrimitive(value: unknown): unknown {
    return value;
  }
}

function invalidRequest(errors: readonly ValidationError[]): ServiceError {
  const metatype = errors[0]?.target?.constructor as Type | undefined;
  const properties = metatype ? validatedProperties(metatype) : [];
  return new ServiceError('invalid_request', validationMessage(errors, properties));
}

type JsonObject = Record<string, unknown>;

const membersOfDto = new WeakMap<Type, ReturnType<typeof readMembers>>();

/**
 * Returns a copy of an object, or of each object of an array, with only the members for which its
 * DTO class has a rule, also in nested DTOs. The ValidationPipe would remove the others in the end,
 * but only after class-transformer has copied them, in a time that is quadratic in their number.
 */
function knownMembers(value: unknown, dto: Type): unknown {
  if (Array.isArray(value)) return value.map((item) => knownMembers(item, dto));
  if (!isObject(value)) return value;
  const { names, nested, keepsOthersReadable } = membersOf(dto);
  // `@Expose({ name })` and `@Transform(({ obj }) => …)` read the others through the prototype.
  const known = (keepsOthersReadable ? Object.create(value) : {}) as JsonObject;
  for (const name of names) {
    if (!Object.hasOwn(value, name)) continue;
    const nestedType = nested.get(name);
    known[name] = nestedType ? knownMembers(value[name], nestedType(value)) : value[name];
  }
  return known;
}

/**
 * Returns the DTO that class-transformer would create from an object, or null if the class or a
 * value is not simple: the class has only the decorators of this folder, and every value is a
 * primitive. It takes a third of the time (docs/performance.md).
 */
function simpleDto(value: Readonly<JsonObject>, dto: Type): object | null {
  const { names, conversions } = membersOf(dto);
  if (!conversions) return null;
  const created = new dto() as JsonObject;
  for (const name of names) {
    if (!Object.hasOwn(value, name)) continue;
    const member = value[name];
    if (typeof member === 'object' && member !== null) return null;
    const convert = conversions.get(name);
    created[name] = convert ? convert(member) : member;
  }
  return created;
}

/** Returns whether a value is an object and not an array. */
function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function membersOf(dto: Type) {
  let members = membersOfDto.get(dto);
  if (!members) {
    members = readMembers(dto);
    membersOfDto.set(dto, members);
  }
  return members;
}

/** Returns the properties of a DTO class that have a rule. Completes and sorts the rules first. */
function readMembers(dto: Type) {
  requireNestedObjects(dto);
  sortRules();
  const names = validatedProperties(dto);
  return {
    names,
    nested: nestedTypesOf(dto),
    keepsOthersReadable: mayReadOtherMembers(dto, names),
    /** The conversion of each member, or null if only class-transformer can create the DTO. */
    conversions: simpleConversions(dto, names),
  };
}

/** Returns the class of each nested DTO, which `@Type()` may choose by the object around it. */
function nestedTypesOf(dto: Type) {
  const nestedTypes = new Map<string, (parent: JsonObject) => Type>();
  for (const { propertyName: property } of rulesOf(dto).filter(isNestedRule)) {
    const metadata = typeMetadataOf(dto, property);
    // The members of a Map have any name. A discriminator chooses the class during the conversion.
    if (!metadata?.typeFunction || metadata.reflectedType === Map || metadata.options.discriminator)
      continue;
    const { typeFunction } = metadata;
    nestedTypes.set(
      property,
      (object) => typeFunction({ newObject: {}, object, property }) as Type,
    );
  }
  return nestedTypes;
}
