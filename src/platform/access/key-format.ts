import { hash, randomInt, timingSafeEqual } from 'node:crypto';
import { PRODUCT } from '../../product.js';

const PREFIX = PRODUCT.keyPrefix;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const PROOF_LENGTH = 6;
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{36}$`);
const BLOCK_BYTES = 64;
const HASH_BYTES = 32;

/**
 * Creates and verifies the API keys of a store. It computes the HMAC as RFC 2104 defines it: an
 * object of `createHmac` for each made-up key costs a tenth of the CPU of its 401.
 */
export class KeyMaker {
  readonly #inner = Buffer.alloc(BLOCK_BYTES + PREFIX.length + RANDOM_LENGTH, 0x36);
  readonly #outer = Buffer.alloc(BLOCK_BYTES + HASH_BYTES, 0x5c);

  /** @param secret of the store, at most 64 bytes */
  constructor(secret: Uint8Array) {
    for (const [index, byte] of secret.entries()) {
      this.#inner[index] = 0x36 ^ byte;
      this.#outer[index] = 0x5c ^ byte;
    }
  }

  /** Returns a new API key: the prefix, 30 random base62 characters, and their proof. */
  create(): string {
    let key = PREFIX;
    for (let index = 0; index < RANDOM_LENGTH; index++)
      key += ALPHABET.charAt(randomInt(ALPHABET.length));
    return key + this.proofOf(key);
  }

  /** Whether a text with the form of an API key ends with the proof of this store. */
  verify(key: string): boolean {
    const proof = key.slice(-PROOF_LENGTH);
    return timingSafeEqual(Buffer.from(this.proofOf(key)), Buffer.from(proof));
  }

  /** Returns the first 35 bits of the HMAC-SHA-256 as six base62 digits, most significant first. */
  private proofOf(key: string): string {
    this.#inner.write(key, BLOCK_BYTES, 'latin1');
    this.#outer.write(hash('sha256', this.#inner), BLOCK_BYTES, 'hex');
    const mac = hash('sha256', this.#outer);
    let rest = Math.floor(Number.parseInt(mac.slice(0, 10), 16) / 2 ** 5);
    let digits = '';
    for (let index = 0; index < PROOF_LENGTH; index++) {
      digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
      rest = Math.floor(rest / ALPHABET.length);
    }
    return digits;
  }
}

export function hasKeyForm(text: string): boolean {
  return FORM.test(text);
}

/** Returns the SHA-256 of an API key in hex. Only the hash is stored. */
export function hashKey(key: string): string {
  return hash('sha256', key);
}

/** Returns the part of an API key by which operators identify it. */
export function keyHint(key: string): string {
  return `${key.slice(0, PREFIX.length + 4)}…${key.slice(-4)}`;
}
