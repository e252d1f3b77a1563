import { fingerprintOf } from '../../src/platform/idempotency/fingerprint.js';

class Dto {
  [name: string]: unknown;

  constructor(members: object) {
    Object.assign(this, members);
  }
}

const DAY = new Date('2027-03-01');
/** No two of them are the same request. */
const DISTINCT: object[] = [
  ...[[], ['b'], [1], ['1'], [2n ** 53n + 1n], [2n ** 53n], [true], [null], [[1]], [1, 1]],
  ...[[[1], 1], {}, [DAY], [new Date('2027-03-02')]],
  ...[{ x: null }, { x: { y: 1 } }, { x: 1, y: 1 }, { y: 1 }, { __proto__: null, constructor: 1 }],
];

describe('the fingerprint of a request', () => {
  it('is the same for equal content, whatever its classes, order or undefined properties', () => {
    const sent = new Dto({ b: [2n, null], a: new Dto({ z: 1, y: true, x: undefined }) });
    const same = { a: { y: true, z: 1 }, b: [2n, null] };
    expect(fingerprintOf('o', sent)).toEqual(fingerprintOf('o', same));
  });

  it('differs for different content and operations', () => {
    const all = DISTINCT.map((content) => fingerprintOf('a', content).toString('hex'));
    expect(new Set([...all, fingerprintOf('b', []).toString('hex')]).size).toBe(all.length + 1);
  });
});
