import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { parse as parseLossless } from 'lossless-json';
import { exactNumber, parseJson } from '../../../../src/platform/http/body/parse-json.js';
import { jsonText } from '../../../../src/platform/http/response/json-text.js';
import { codePoint } from '../../../harness/fuzz/code-point.js';
import { holds } from '../../../harness/fuzz/property.js';

const parse = (text: string): unknown => parseJson(Buffer.from(text));

describe('exactNumber', () => {
  it('is exact where a double is not', () => {
    expect(exactNumber('9223372035e9')).toBe(9223372035000000000n);
  });

  it('agrees with rational arithmetic', async () => {
    const integer = fc.oneof(
      fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }),
      fc.bigInt(-99n, 99n),
    );
    const token = fc.tuple(
      integer.map((value) => String(value).replace('-0', '0')),
      fc.oneof(fc.constant(''), fc.stringMatching(/^\.[0-9]{0,5}0{1,20}$/)),
      fc.oneof(
        fc.constant(''),
        fc.integer({ min: -30, max: 30 }).map((value) => `e${value}`),
      ),
    );
    await holds(fc.array(token, { minLength: 100 }), (tokens) => {
      const texts = tokens.map((parts) => parts.join(''));
      const expected = tokens.map((parts, index) => [texts[index], valueOf(...parts)]);
      expect(texts.map((text) => [text, exactNumber(text)])).toEqual(expected);
      return Promise.resolve();
    });
  });
});

/** Returns the exact integer value of a token, a double if it is not an integer or over 2^63. */
function valueOf(whole: string, fraction: string, exponent: string): number | bigint {
  const double = Number(whole + fraction + exponent);
  const scale = Number(exponent.slice(1)) - Math.max(0, fraction.length - 1);
  const digits = BigInt(whole + fraction.slice(1));
  const divisor = 10n ** BigInt(Math.max(0, -scale));
  const isInteger = digits % divisor === 0n;
  if (!Number.isInteger(double) || Math.abs(double) > 2 ** 63) return double + 0;
  if (!isInteger) return NaN;
  const integer = (digits * 10n ** BigInt(Math.max(0, scale))) / divisor;
  return Number.isSafeInteger(double) ? double + 0 : integer;
}

test('parseJson › returns the same as lossless-json for any JSON, and rejects the texts that JSON.parse rejects', async () => {
  const number = fc.constantFrom(
    '0',
    '-1',
    '1.5',
    '1e3',
    '1E-2',
    '-0.125',
    '1e18',
    '-9007199254740993',
    '1e-400',
    '5.00000000000000001',
    '2e299',
    '-1e400',
    '9'.repeat(101),
  );
  const text = fc
    .tuple(fc.json({ maxDepth: 4 }), number, fc.boolean())
    .map(([json, token, isList]) =>
      isList ? `[${json}, ${token}]` : `{"a" :${token},"":${json}}`,
    );
  const damage = fc.tuple(fc.nat(), fc.constantFrom('', '"', ',', '}', '0', '\\', '\n', 'e', '[]'));
  await holds(fc.tuple(text, damage), async ([valid, [position, inserted]]) => {
    const options = { parseNumber: exactNumber };
    const expected = parseLossless(valid, null, {
      ...options,
      onDuplicateKey: ({ newValue }) => newValue,
    });
    expect(isDeepStrictEqual(parse(valid), expected)).toBe(true);
    const at = position % valid.length;
    const damaged = valid.slice(0, at) + inserted + valid.slice(at + 1);
    expect([damaged, isRejected(parse, damaged)]).toEqual([
      damaged,
      isRejected(JSON.parse, damaged),
    ]);
    return Promise.resolve();
  });
});

function isRejected(parser: (text: string) => unknown, text: string): boolean {
  try {
    parser(text);
    return false;
  } catch {
    return true;
  }
}

describe('jsonText', () => {
  function returnThis(this: unknown): unknown {
    return this;
  }
  it.each<[value: unknown, text: string]>([
    [
      [-9223372036854775808n, [0n, { a: 9223372036854775807n }]],
      '[-9223372036854775808,[0,{"a":9223372036854775807}]]',
    ],
    [
      { when: new Date(0), own: { toJSON: () => [1n] } },
      '{"when":"1970-01-01T00:00:00.000Z","own":[1]}',
    ],
    [[undefined, null, () => 1, NaN, -0, 1e21], '[null,null,null,null,0,1e+21]'],
    [{ a: undefined, b: () => 1, c: null }, '{"c":null}'],
    [Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true } }), '{"own":1}'],
    [undefined, 'null'],
    [{ toJSON: () => undefined }, 'null'],
    [[Object(9223372036854775807n)], '[9223372036854775807]'],
  ])('serializes %p', (value, text) => {
    expect(jsonText(value)).toBe(text);
  });

  const once = { toJSON: (name: string) => ({ name, toJSON: () => 'twice' }) };
  it.each<[title: string, value: unknown]>([
    ['boxed values', [Object(1), new String('a"b'), Object(false), Object(Symbol('a'))]],
    ['boxed members', { a: Object(NaN), b: { toJSON: () => new String('c') } }],
    ['symbols', { a: Symbol('a'), [Symbol('b')]: 1, c: [Symbol('c')], d: 1 }],
    ['toJSON() without a result', { a: { toJSON: () => undefined }, b: [{ toJSON: () => test }] }],
    ['toJSON() of a function', { a: Object.assign(() => 1, { toJSON: () => 2 }) }],
    ['toJSON(), called once, with a name', { a: once, b: [once, [once]] }],
    ['a value that its toJSON() returns', Object.assign([1], { toJSON: returnThis })],
  ])('serializes %s like JSON.stringify', (_title, value) => {
    expect(jsonText(value)).toBe(JSON.stringify(value));
  });

  it('serializes like JSON.stringify', async () => {
    const value = fc.anything({
      key: fc.string({ unit: codePoint }),
      values: [
        fc.string({ unit: codePoint }),
        fc.double(),
        fc.constant(null),
        fc.boolean(),
        fc.constantFrom('\ud800', '\ud800"\n\u2028'),
      ],
    });
    await holds(value, (any) => {
      expect(jsonText(any)).toBe(JSON.stringify(any));
      return Promise.resolve();
    });
  });
});
