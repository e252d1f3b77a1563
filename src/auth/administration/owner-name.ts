import { AdministrationError } from './administration-error.js';

const MAX_CODE_POINTS = 255;

/**
 * Returns an owner's name as it is stored: without white space around it.
 *
 * @throws AdministrationError when nothing is left, or it is too long or not printable
 */
export function toOwnerName(text: string): string {
  const name = text.trim();
  const isPrintable = name.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(name);
  if (name === '' || !isPrintable || [...name].length > MAX_CODE_POINTS) {
    throw new AdministrationError(
      `the name of an owner is 1 to ${MAX_CODE_POINTS} characters, without control characters`,
    );
  }
  return name;
}
