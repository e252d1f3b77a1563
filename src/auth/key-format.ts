import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'aas_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const KEY = /^aas_[0-9A-Za-z]{36}$/;

/** Returns a new API key: `aas_`, 30 random base62 characters, and their checksum. */
export function generateKey(): string {
  let key = PREFIX;
  for (let index = 0; index < RANDOM_LENGTH; index++)
    key += ALPHABET.charAt(randomInt(ALPHABET.length));
  return key + checksum(key);
}

/** Whether a text has the form and the checksum of an API key. Needs no lookup. */
export function hasKeyForm(text: string): boolean {
  return KEY.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)));
}

/** Returns the SHA-256 of an API key in hex. Only the hash is stored. */
export function hashKey(key: string): string {
  return hash('sha256', key);
}

/** Returns the part of an API key by which operators identify it. */
export function keyHint(key: string): string {
  return `${key.slice(0, PREFIX.length + 4)}…${key.slice(-4)}`;
}

/** Returns the CRC-32 of the text as six base62 digits, most significant first. */
function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let index = 0; index < CHECKSUM_LENGTH; index++) {
    digits = ALPHABET.charAt(rest % ALPHABET.length) + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}
