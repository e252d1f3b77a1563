import { generateKey, hashKey, hasKeyForm, keyHint } from '../../src/auth/key-format.js';

/** Made once by another implementation of CRC-32 and base62: what was issued stays valid for ever. */
const KNOWN_KEY = 'aas_0123456789ABCDEFGHIJKLMNOPQRST48lWnt';

describe('a generated key', () => {
  const keys = Array.from({ length: 1_000 }, generateKey);

  it('is aas_ and 36 base62 characters', () => {
    for (const key of keys) expect(key).toMatch(/^aas_[0-9A-Za-z]{36}$/);
  });

  it('has the form of a key', () => expect(keys.every(hasKeyForm)).toBe(true));

  it('is like no other', () => expect(new Set(keys).size).toBe(keys.length));

  it('uses the whole alphabet in every place', () => {
    for (let place = 4; place < 34; place++) {
      expect(new Set(keys.map((key) => key[place])).size).toBe(62);
    }
  });
});

describe('the form of a key', () => {
  it('is that of a key made elsewhere', () => expect(hasKeyForm(KNOWN_KEY)).toBe(true));

  it.each(Array.from(KNOWN_KEY, (_, place) => place))(
    'is lost when character %i changes',
    (place) => {
      const changed = KNOWN_KEY[place] === 'x' ? 'y' : 'x';
      expect(hasKeyForm(KNOWN_KEY.slice(0, place) + changed + KNOWN_KEY.slice(place + 1))).toBe(
        false,
      );
    },
  );

  it.each([
    '',
    'aas_',
    KNOWN_KEY.slice(0, -1),
    `${KNOWN_KEY}0`,
    `${KNOWN_KEY}\n`,
    ` ${KNOWN_KEY}`,
    KNOWN_KEY.toUpperCase(),
    KNOWN_KEY.slice(4),
    KNOWN_KEY + KNOWN_KEY,
  ])('is not that of %j', (text) => expect(hasKeyForm(text)).toBe(false));
});

it('a key is stored as its SHA-256', () => {
  expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

it('a hint shows the first and the last four characters of a key', () => {
  expect(keyHint(KNOWN_KEY)).toBe(`aas_0123…${KNOWN_KEY.slice(-4)}`);
});
