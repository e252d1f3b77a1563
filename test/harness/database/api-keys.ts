import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { KeyMaker } from '../../../src/platform/access/key-format.js';
import type { TestDatabase } from './database.js';
import { PRODUCT } from '../../../src/product.js';

/** A store that is not under test. */
const OTHER_STORE = new KeyMaker(randomBytes(32), PRODUCT.keyPrefix);

/** Returns a new API key of another store: well-formed, but not issued by the store under test. */
export const unknownKey = (): string => OTHER_STORE.create();

export async function keyMakerOf(database: Pick<TestDatabase, 'query'>): Promise<KeyMaker> {
  const [row] = await database.query<{ secret: Buffer }>('SELECT secret FROM key_secret');
  return new KeyMaker((row as { secret: Buffer }).secret, PRODUCT.keyPrefix);
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns a new API key as earlier releases issued them: with the CRC-32 in base62 at the end. */
export function earlierKey(): string {
  const text = unknownKey().slice(0, -6);
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < 6; place++) {
    digits = ALPHABET.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return text + digits;
}
