import { ValidateBy, type ValidationOptions } from 'class-validator';
import { Convert } from './conversion.js';

const CANONICAL_DECIMAL = /^(?:0|-?[1-9]\d{0,14})$/;

/** The query parameter is a canonical decimal integer in a range; the DTO holds it as a number. */
export function IsIntegerParameter(
  min: number,
  max: number,
  options?: ValidationOptions,
): PropertyDecorator {
  const validate = ValidateBy(
    {
      name: 'isIntegerParameter',
      validator: {
        validate: (value) => Number.isInteger(value) && value >= min && value <= max,
        defaultMessage: () => `$property must be an integer from ${min} to ${max}`,
      },
    },
    options,
  );
  return (prototype, property) => {
    Convert(toInteger)(prototype, property);
    validate(prototype, property);
  };
}

function toInteger(value: unknown): unknown {
  return typeof value === 'string' && CANONICAL_DECIMAL.test(value) ? Number(value) : value;
}
