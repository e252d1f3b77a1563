import 'reflect-metadata';
import { type Type } from '@nestjs/common';
import { getMetadataStorage, validateSync, type ValidationError } from 'class-validator';
import { conversionsOf } from './conversion.js';

const FLAT = Symbol('flat DTO');
const NESTED_VALIDATION = 'nestedValidation';

/**
 * Marks a DTO class that is validated without class-transformer, which copies everything that a
 * body contains before the rules are checked: a hostile body of 100 KiB with thousands of unknown
 * members would take a tenth of a second (docs/performance.md). All properties must be primitives
 * with synchronous rules. The only conversions are those of the decorators in this folder. A
 * subclass is flat only if it has the decorator itself.
 */
export function FlatDto(): ClassDecorator {
  return (target) => Reflect.defineMetadata(FLAT, true, target);
}

/** Returns whether a class itself, not only its base class, is marked with `@FlatDto()`. */
export function isFlatDto(metatype: Type): boolean {
  return Reflect.hasOwnMetadata(FLAT, metatype);
}

/** Returns the validated properties of a DTO class, in the order in which it declares them. */
export function validatedProperties(metatype: Type): string[] {
  return [...new Set(rulesOf(metatype).map(({ propertyName }) => propertyName))];
}

/** Creates and validates instances of one flat DTO class. */
export class FlatDtoFactory {
  private readonly properties: readonly string[];
  private readonly conversions;

  /** @throws Error when a property of the class is a DTO itself */
  constructor(private readonly metatype: Type) {
    if (rulesOf(metatype).some(({ type }) => type === NESTED_VALIDATION)) {
      throw new Error(`${metatype.name} has a nested DTO: remove @FlatDto() from it.`);
    }
    this.properties = validatedProperties(metatype);
    this.conversions = conversionsOf(metatype.prototype as object);
  }

  /** Returns a DTO with the validated properties of an object, and the rules that it breaks. */
  create(sent: Readonly<Record<string, unknown>>): { dto: object; errors: ValidationError[] } {
    const dto = new this.metatype() as Record<string, unknown>;
    for (const property of this.properties) {
      if (!Object.hasOwn(sent, property)) continue;
      const convert = this.conversions.get(property);
      dto[property] = convert ? convert(sent[property]) : sent[property];
    }
    const errors = validateSync(dto, { stopAtFirstError: true, forbidUnknownValues: false });
    return { dto, errors };
  }
}

function rulesOf(metatype: Type) {
  return getMetadataStorage().getTargetValidationMetadatas(metatype, '', false, false);
}
