import { AdministrationError } from './administration-error.js';

const MAX_CODE_POINTS = 255;

/** Trims the name of an owner. @throws AdministrationError if it is empty, too long, unprintable */
export function toOwnerName(text: string): string {
  const name = text.trim();
  const isPrintable = name.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(name);
  if (name === '' || !isPrintable || [...name].length > MAX_CODE_POINTS) {
    throw new AdministrationError(
      `The name of an owner must be 1 to ${MAX_CODE_POINTS} characters, without control characters.`,
    );
  }
  return name;
}
