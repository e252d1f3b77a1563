import { ValidateBy, type ValidationOptions } from 'class-validator';
import { Convert } from './conversion.js';

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

const CANONICAL_DECIMAL = /^(?:0|-?[1-9]\d{0,18})$/;

/** Returns the integer that canonical decimal text denotes, or undefined when it is none in int64. */
export function parseInt64(text: string): bigint | undefined {
  return CANONICAL_DECIMAL.test(text) ? withinInt64(BigInt(text)) : undefined;
}

/** The property is a JSON number whose value is an integer in int64; the DTO holds it as a bigint. */
export function IsInt64(options?: ValidationOptions): PropertyDecorator {
  const validate = ValidateBy(
    {
      name: 'isInt64',
      validator: {
        validate: (value) => typeof value === 'bigint' && withinInt64(value) !== undefined,
        defaultMessage: () => `$property must be an integer from ${INT64_MIN} to ${INT64_MAX}`,
      },
    },
    options,
  );
  return (prototype, property) => {
    Convert(toBigInt)(prototype, property);
    validate(prototype, property);
  };
}

function toBigInt(value: unknown): unknown {
  return Number.isSafeInteger(value) ? BigInt(value as number) : value;
}

function withinInt64(value: bigint): bigint | undefined {
  return value >= INT64_MIN && value <= INT64_MAX ? value : undefined;
}
