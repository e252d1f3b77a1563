import { hasKeyForm } from '../key-format.js';
import { AdministrationError } from './administration-error.js';

const MAX_CODE_POINTS = 255;

/** Control, format (such as right-to-left override), private and unpaired characters, line ends. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/u;

/**
 * Trims the name of an owner.
 *
 * @throws AdministrationError if it is empty, too long, unprintable, or an API key
 */
export function toOwnerName(text: string): string {
  const name = text.trim();
  if (name === '' || INVISIBLE.test(name) || [...name].length > MAX_CODE_POINTS) {
    throw new AdministrationError(
      `The name of an owner must be 1 to ${MAX_CODE_POINTS} characters, without control or format characters.`,
    );
  }
  if (hasKeyForm(name)) throw new AdministrationError('An API key is not the name of an owner.');
  return name;
}
