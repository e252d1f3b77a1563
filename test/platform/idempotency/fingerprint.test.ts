import { createHash } from 'node:crypto';
import { fingerprintOf } from '../../../src/platform/idempotency/idempotency.js';

/** No two of them are the same request. */
const DISTINCT: object[] = [
  [],
  ['b'],
  [1],
  ['1'],
  [1n],
  [true],
  [null],
  [[1]],
  [1, 1],
  [[1], 1],
  [null, 1],
  [[null]],
  [undefined, 1, 1],
  {},
  { int64: '1' },
  { object: [] },
  [new Date('2027-03-01')],
  [new Date('2027-03-02')],
  { x: null },
  { x: { y: 1 } },
  { x: 1, y: 1 },
  { y: 1 },
  { __proto__: null, constructor: 1 },
];

describe('the fingerprint of a request', () => {
  it('is the same for equal content, whatever its classes, order or undefined properties', () => {
    class Dto {
      readonly b = [2n, null];
      readonly a = { y: true, x: undefined };
    }
    const same = { a: { y: true }, b: [2n, null] };
    expect(fingerprintOf('o', new Dto())).toEqual(fingerprintOf('o', same));
  });

  it.each<[object, object]>([
    [['a', undefined], ['a']],
    [[undefined, undefined], []],
    [{ x: { list: [[1, undefined], undefined] } }, { x: { list: [[1]] } }],
    [[{ x: [1n, undefined] }, undefined], [{ x: [1n] }]],
  ])('ignores undefined at the end of an array, at any depth: %p', (content, same) => {
    expect(fingerprintOf('o', content)).toEqual(fingerprintOf('o', same));
  });

  it('is that of releases that are already deployed', () => {
    const text = '["createPet","Frank",{"int64":"7"},"available"]';
    const expected = createHash('sha256').update(text).digest();
    expect(fingerprintOf('createPet', ['Frank', 7n, 'available'])).toEqual(expected);
  });

  it('differs for different content and operations', () => {
    const all = DISTINCT.map((content) => fingerprintOf('a', content).toString('hex'));
    expect(new Set([...all, fingerprintOf('b', []).toString('hex')]).size).toBe(all.length + 1);
  });
});
