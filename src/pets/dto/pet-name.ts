import { ValidateBy, type ValidationOptions } from 'class-validator';

const MAX_CODE_POINTS = 255;
/** White space as in Unicode or in ECMAScript. They differ in U+0085 and U+FEFF. */
const NOT_WHITE_SPACE = /[^\s\p{White_Space}]/u;

/**
 * Accepts 1 to 255 Unicode code points, at least one not white space. Rejects NUL and lone
 * surrogates.
 */
export function IsPetName(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isPetName',
      validator: {
        validate: isPetName,
        defaultMessage: () =>
          `$property must be a string of 1 to ${MAX_CODE_POINTS} characters, at least one of them not white space, without NUL or lone surrogates`,
      },
    },
    options,
  );
}

function isPetName(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    NOT_WHITE_SPACE.test(value) &&
    !value.includes('\0') &&
    value.isWellFormed() &&
    hasAtMostCodePoints(value, MAX_CODE_POINTS)
  );
}

function hasAtMostCodePoints(text: string, max: number): boolean {
  // A code point is one or two UTF-16 units, so most texts need no counting.
  return text.length <= max || [...text].length <= max;
}
