import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'aas_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const UNCHECKED_LENGTH = PREFIX.length + RANDOM_LENGTH;

const KEY = /^aas_[0-9A-Za-z]{36}$/;

/** Returns a new API key: `aas_`, 30 random base62 characters, and their checksum. */
export function generateKey(): string {
  let key = PREFIX;
  for (let index = 0; index < RANDOM_LENGTH; index++)
    key += ALPHABET.charAt(randomInt(ALPHABET.length));
  return key + checksum(key);
}

/** Whether text has the form of a key and the right checksum: one that was issued, or a very lucky guess. */
export function hasKeyForm(text: string): boolean {
  return KEY.test(text) && text.endsWith(checksum(text.slice(0, UNCHECKED_LENGTH)));
}

/** Returns the SHA-256 of a key in hex: what is stored of it. */
export function hashKey(key: string): string {
  return hash('sha256', key);
}

/** Returns what operators may see of a key, to tell one from another. */
export function keyHint(key: string): string {
  return `${key.slice(0, PREFIX.length + 4)}…${key.slice(-4)}`;
}

/** CRC-32 of the text in six base62 digits, most significant first. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let index = 0; index < CHECKSUM_LENGTH; index++) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
