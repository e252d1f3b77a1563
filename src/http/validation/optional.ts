import { ValidateIf, type ValidationOptions } from 'class-validator';

/** The property may be left out. Unlike class-validator's IsOptional, null is a value, and an invalid one. */
export function IsOptionalMember(options?: ValidationOptions): PropertyDecorator {
  return ValidateIf((_dto, value) => value !== undefined, options);
}
