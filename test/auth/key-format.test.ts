import { hashKey, hasKeyForm, keyHint, KeyMaker } from '../../src/platform/access/key-format.js';

const maker = new KeyMaker(Buffer.alloc(32, 7));
const otherMaker = new KeyMaker(Buffer.alloc(32, 8));

/** Created by another implementation of HMAC and base62. Issued keys must stay valid. */
const EXAMPLE_KEY = 'aas_0123456789ABCDEFGHIJKLMNOPQRST8GAb2P';

describe('a generated key', () => {
  const keys = Array.from({ length: 1_000 }, () => maker.create());

  it('is aas_ and 36 base62 characters', () => {
    for (const key of keys) expect(key).toMatch(/^aas_[0-9A-Za-z]{36}$/);
  });

  it('has the proof of its store, and of no other one', () => {
    expect(keys.every((key) => hasKeyForm(key) && maker.verify(key))).toBe(true);
    expect(keys.some((key) => otherMaker.verify(key))).toBe(false);
  });

  it('uses the whole alphabet in every random position', () => {
    for (let place = 4; place < 34; place++) {
      expect(new Set(keys.map((key) => key[place])).size).toBe(62);
    }
  });
});

describe('the proof of a key', () => {
  it('matches that of another implementation', () => expect(maker.verify(EXAMPLE_KEY)).toBe(true));

  it.each(Array.from(EXAMPLE_KEY, (_, place) => place).slice(4))(
    'does not match when character %i changes',
    (place) => {
      const changed = EXAMPLE_KEY[place] === 'x' ? 'y' : 'x';
      const key = EXAMPLE_KEY.slice(0, place) + changed + EXAMPLE_KEY.slice(place + 1);
      expect([hasKeyForm(key), maker.verify(key)]).toEqual([true, false]);
    },
  );
});

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
])('%j does not have the form of a key', (text) => expect(hasKeyForm(text)).toBe(false));

it('a key is stored as its SHA-256', () => {
  expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

it('a hint shows the first and the last four characters of a key', () => {
  expect(keyHint(EXAMPLE_KEY)).toBe(`aas_0123…${EXAMPLE_KEY.slice(-4)}`);
});
