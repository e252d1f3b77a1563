import { createHmac, hash, randomInt, timingSafeEqual } from 'node:crypto';
import { KEY_DIGITS, keyForms, PROOF_LENGTH, RANDOM_LENGTH } from '../config/key-forms.js';

/** Creates and verifies the API keys of a store. */
export class KeyMaker {
  private readonly form = keyForms(this.prefix).whole;

  /** @param secret of the store */
  constructor(
    private readonly secret: Uint8Array,
    private readonly prefix: string,
  ) {}

  /** Returns a new API key: the prefix, 30 random base62 characters, and their proof. */
  create(): string {
    const digit = () => KEY_DIGITS.charAt(randomInt(KEY_DIGITS.length));
    const key = this.prefix + Array.from({ length: RANDOM_LENGTH }, digit).join('');
    return key + this.proofOf(key);
  }

  hasForm(text: string): boolean {
    return this.form.test(text);
  }

  /** Whether a text with the form of an API key ends with the proof of this store. */
  verify(key: string): boolean {
    const proof = key.slice(-PROOF_LENGTH);
    const expected = this.proofOf(key.slice(0, -PROOF_LENGTH));
    return timingSafeEqual(Buffer.from(expected), Buffer.from(proof));
  }

  /** Returns the first 35 bits of the HMAC-SHA-256 as six base62 digits, most significant first. */
  private proofOf(text: string): string {
    const mac = createHmac('sha256', this.secret).update(text).digest('hex');
    let rest = Math.floor(Number.parseInt(mac.slice(0, 10), 16) / 2 ** 5);
    let digits = '';
    for (let index = 0; index < PROOF_LENGTH; index++) {
      digits = KEY_DIGITS.charAt(rest % KEY_DIGITS.length) + digits;
      rest = Math.floor(rest / KEY_DIGITS.length);
    }
    return digits;
  }
}

/** Returns the SHA-256 of an API key in hex. Only the hash is stored. */
export function hashKey(key: string): string {
  return hash('sha256', key);
}

/** Returns the first and last characters of an API key, by which operators identify it. */
export function keyHint(key: string): string {
  return `${key.slice(0, -32)}…${key.slice(-4)}`;
}
