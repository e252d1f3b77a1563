import { createHash } from 'node:crypto';
import { fingerprintOf } from '../../src/platform/idempotency/fingerprint.js';

class Dto {
  [name: string]: unknown;

  constructor(members: object) {
    Object.assign(this, members);
  }
}

describe('the fingerprint of a request', () => {
  it('is the same for equal content', () => {
    const content = { a: 1, b: [2n, null], c: { d: 'x' } };
    expect(fingerprintOf('o', content)).toEqual(fingerprintOf('o', structuredClone(content)));
  });

  it('does not depend on the class, the order of properties, or undefined properties', () => {
    const dto = new Dto({ b: 1n, a: new Dto({ y: true, x: undefined }) });
    expect(fingerprintOf('o', dto)).toEqual(fingerprintOf('o', { a: { y: true }, b: 1n }));
  });

  it('is that of releases that are already deployed', () => {
    const text = '["createPet","Frank",{"int64":"7"},"available"]';
    const expected = createHash('sha256').update(text).digest();
    expect(fingerprintOf('createPet', ['Frank', 7n, 'available'])).toEqual(expected);
  });

  const day = new Date('2027-03-01');
  const distinct: [operation: string, content: object][] = [
    ['a', []],
    ['b', []],
    ['a', ['b']],
    ['a', [1]],
    ['a', ['1']],
    ['a', [1n]],
    ['a', [true]],
    ['a', [null]],
    ['a', [[1]]],
    ['a', [1, 1]],
    ['a', [[1], 1]],
    ['a', {}],
    ['a', { int64: '1' }],
    ['a', { object: [] }],
    ['a', { date: day.getTime() }],
    ['a', [day]],
    ['a', [new Date('2027-03-02')]],
    ['a', [day.toISOString()]],
    ['a', { x: null }],
    ['a', { x: { y: 1 } }],
    ['a', { x: 1, y: 1 }],
    ['a', { y: 1 }],
    ['a', { __proto__: null, constructor: 1 }],
  ];

  it('differs for different content', () => {
    const all = distinct.map(([operation, content]) =>
      fingerprintOf(operation, content).toString('hex'),
    );
    expect(new Set(all).size).toBe(distinct.length);
  });

  it.each([
    ['undefined in an array', [undefined]],
    ['a hole in an array', new Array(1)],
    ['NaN', [NaN]],
    ['a Map', new Map([['a', 1]])],
    ['a Set in a property', { set: new Set([1]) }],
    ['a function', [() => 1]],
    ['a symbol', { symbol: Symbol('a') }],
    ['bytes', [Buffer.from('a')]],
  ])('does not exist for %s', (_title, content) => {
    expect(() => fingerprintOf('a', content)).toThrow(/which cannot be compared/);
  });
});
