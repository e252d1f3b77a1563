import { PRODUCT } from '../../../src/product.js';
import { hashKey, keyHint, KeyMaker } from '../../../src/platform/access/key-format.js';

const maker = new KeyMaker(Buffer.alloc(32, 7), PRODUCT.keyPrefix);
const otherMaker = new KeyMaker(Buffer.alloc(32, 8), PRODUCT.keyPrefix);

const PREFIX = PRODUCT.keyPrefix;
const KEY = `${PREFIX}0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ`;

describe('a generated key', () => {
  const keys = Array.from({ length: 1_000 }, () => maker.create());

  it('is the prefix of the product and 36 base62 characters', () => {
    for (const key of keys) expect(key).toMatch(new RegExp(`^${PREFIX}[0-9A-Za-z]{36}$`));
  });

  it('has the proof of its store, and of no other one', () => {
    expect(keys.every((key) => maker.hasForm(key) && maker.verify(key))).toBe(true);
    expect(keys.some((key) => otherMaker.verify(key))).toBe(false);
  });

  it('uses the whole alphabet in every random position', () => {
    for (let place = -36; place < -6; place++) {
      expect(new Set(keys.map((key) => key.at(place))).size).toBe(62);
    }
  });
});

describe('the proof of a key', () => {
  it('matches that of another implementation, so that issued keys stay valid', () =>
    expect(maker.verify('store_0123456789ABCDEFGHIJKLMNOPQRST5ol3cB')).toBe(true));

  it.each(Array.from({ length: 36 }, (_, place) => PREFIX.length + place))(
    'does not match when character %i changes',
    (place) => {
      const key = maker.create();
      const changed = key.slice(0, place) + (key[place] === 'x' ? 'y' : 'x') + key.slice(place + 1);
      expect([maker.hasForm(changed), maker.verify(changed)]).toEqual([true, false]);
    },
  );
});

it.each([
  '',
  PREFIX,
  KEY.slice(0, -1),
  `${KEY}0`,
  `${KEY}\n`,
  ` ${KEY}`,
  KEY.slice(-36),
  KEY + KEY,
  `${KEY.slice(0, -1)}_`,
  `x${KEY}`,
])('%j does not have the form of a key', (text) => expect(maker.hasForm(text)).toBe(false));

it('a key is stored as its SHA-256', () => {
  expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

it('a hint shows the first and the last four characters of a key', () => {
  expect(keyHint(KEY)).toBe(`${PREFIX}0123…WXYZ`);
});
