import { generateKey, hashKey, hasKeyForm, keyHint } from '../../src/auth/key-format.js';

/** Created by another implementation of CRC-32 and base62. Issued keys must stay valid. */
const EXAMPLE_KEY = 'aas_0123456789ABCDEFGHIJKLMNOPQRST48lWnt';

describe('a generated key', () => {
  const keys = Array.from({ length: 1_000 }, generateKey);

  it('is aas_ and 36 base62 characters', () => {
    for (const key of keys) expect(key).toMatch(/^aas_[0-9A-Za-z]{36}$/);
  });

  it('has the form of a key', () => expect(keys.every(hasKeyForm)).toBe(true));

  it('is unique', () => expect(new Set(keys).size).toBe(keys.length));

  it('uses the whole alphabet in every position', () => {
    for (let place = 4; place < 34; place++) {
      expect(new Set(keys.map((key) => key[place])).size).toBe(62);
    }
  });
});

describe('the form of a key', () => {
  it('matches a key of another implementation', () => expect(hasKeyForm(EXAMPLE_KEY)).toBe(true));

  it.each(Array.from(EXAMPLE_KEY, (_, place) => place))(
    'does not match when character %i changes',
    (place) => {
      const changed = EXAMPLE_KEY[place] === 'x' ? 'y' : 'x';
      expect(hasKeyForm(EXAMPLE_KEY.slice(0, place) + changed + EXAMPLE_KEY.slice(place + 1))).toBe(
        false,
      );
    },
  );

  it.each([
    '',
    'aas_',
    EXAMPLE_KEY.slice(0, -1),
    `${EXAMPLE_KEY}0`,
    `${EXAMPLE_KEY}\n`,
    ` ${EXAMPLE_KEY}`,
    EXAMPLE_KEY.toUpperCase(),
    EXAMPLE_KEY.slice(4),
    EXAMPLE_KEY + EXAMPLE_KEY,
  ])('does not match %j', (text) => expect(hasKeyForm(text)).toBe(false));
});

it('a key is stored as its SHA-256', () => {
  expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

it('a hint shows the first and the last four characters of a key', () => {
  expect(keyHint(EXAMPLE_KEY)).toBe(`aas_0123…${EXAMPLE_KEY.slice(-4)}`);
});
