/** The digits of an API key, in the order of their values. */
export const KEY_DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** The number of random digits after the prefix. */
export const RANDOM_LENGTH = 30;
/** The number of digits at the end that prove the API key. */
export const PROOF_LENGTH = 6;

const DIGITS = `[${KEY_DIGITS}]{${RANDOM_LENGTH + PROOF_LENGTH}}`;

/** Returns the patterns by which API keys are recognized and masked in texts. */
export function keyForms(prefix: string) {
  return {
    /** An API key and nothing else. */
    whole: new RegExp(`^${prefix}${DIGITS}$`),
    /** Each API key in a text. */
    inText: new RegExp(prefix + DIGITS, 'g'),
    /** Each API key without its prefix. */
    digitsInText: new RegExp(DIGITS, 'g'),
    /** Each API key in a text, also one that is truncated. */
    partsInText: new RegExp(`${prefix}\\w+`, 'g'),
  };
}
