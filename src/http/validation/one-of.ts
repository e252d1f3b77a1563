import { ValidateBy, type ValidationOptions } from 'class-validator';

/** The property is one of the given strings. */
export function IsOneOf(values: readonly string[], options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isOneOf',
      validator: {
        validate: (value) => values.includes(value as string),
        defaultMessage: () => `$property must be one of ${values.join(', ')}`,
      },
    },
    options,
  );
}
