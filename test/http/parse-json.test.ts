import { isDeepStrictEqual } from 'node:util';
import { parse as parseLossless } from 'lossless-json';
import { exactNumber, parseJson } from '../../src/platform/http/body/parse-json.js';
import { seededRandom } from '../harness/http/random.js';

const parse = (text: string): unknown => parseJson(Buffer.from(text));

describe('exactNumber', () => {
  it.each<[token: string, value: number | bigint]>([
    ['-0', 0],
    ['-0.000e-99', 0],
    ['0e999999999', 0],
    ['0.07E+2', 7],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['-9007199254740993.0', -9007199254740993n],
    ['922337203.6854775807e10', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775808', 2n ** 63n],
    ['1e19', 1e19],
    ['1'.repeat(100), Number('1'.repeat(100))],
    ['-2.5e-3', -0.0025],
    ['0.1000000000000000000001', 0.1],
    ['1e400', Infinity],
    ['-1e400', -Infinity],
    ['5.00000000000000001', NaN],
    ['4.99999999999999999', NaN],
    ['-1e-400', NaN],
    ['9223372036854775807.5', NaN],
    ['1'.repeat(101), NaN],
    [`5.${'0'.repeat(99)}`, NaN],
  ])('parses %s as %p', (token, value) => {
    expect(exactNumber(token)).toBe(value);
  });

  it('parses every int64 exactly in every notation', () => {
    const random = seededRandom(1);
    const wrong = Array.from({ length: 20_000 }, () => {
      const bits = BigInt(Math.floor(random() * 64));
      const high = BigInt(Math.floor(random() * 2 ** 32));
      const low = BigInt(Math.floor(random() * 2 ** 32));
      const value = BigInt.asIntN(64, (high << 32n) | low) >> bits;
      return { token: respell(value, random), value };
    }).filter(({ token, value }) => !Object.is(exactNumber(token), numberOf(value)));

    expect(wrong).toEqual([]);
  });

  it('agrees with rational arithmetic for random tokens', () => {
    const random = seededRandom(2);
    const wrong = Array.from({ length: 20_000 }, () => randomToken(random)).filter((token) => {
      const integer = integerOf(token);
      const expected = integer === undefined ? fractionOf(token) : numberOf(integer);
      return !Object.is(exactNumber(token), expected);
    });

    expect(wrong).toEqual([]);
  });
});

/** Returns the expected value of an integer: a number if that is exact, or if it is over 2^63. */
function numberOf(integer: bigint): number | bigint {
  const double = Number(integer);
  return Number.isSafeInteger(double) || Math.abs(double) > 2 ** 63 ? double : integer;
}

/** Returns the nearest double of a token that is not an integer, NaN if that is one up to 2^63. */
function fractionOf(token: string): number {
  const double = Number(token);
  return Number.isInteger(double) && Math.abs(double) <= 2 ** 63 ? NaN : double;
}

/** Writes an integer in one of the notations of JSON. */
function respell(value: bigint, random: () => number): string {
  const digits = `${'0'.repeat(25)}${value < 0n ? -value : value}`;
  const shift = Math.floor(random() * 25);
  const zeros = Math.floor(random() * 10);
  const point = digits.length - shift;
  const whole = digits.slice(0, point).replace(/^0+(?=\d)/, '');
  const fraction = digits.slice(point) + '0'.repeat(zeros);
  const exponent = shift > 0 || random() < 0.3 ? `e${random() < 0.5 ? '+' : ''}${shift}` : '';
  return `${value < 0n ? '-' : ''}${whole}${fraction && `.${fraction}`}${exponent}`;
}

function randomToken(random: () => number): string {
  const digits = (most: number): string =>
    Array.from({ length: 1 + Math.floor(random() * most) }, () =>
      random() < 0.4 ? 0 : Math.floor(random() * 10),
    ).join('');
  const sign = random() < 0.3 ? '-' : '';
  const fraction = random() < 0.5 ? `.${digits(20)}` : '';
  const exponent = random() < 0.5 ? `e${Math.floor(random() * 60) - 30}` : '';
  return `${sign}${digits(22).replace(/^0+(?=\d)/, '')}${fraction}${exponent}`;
}

/** Returns the integer value of a token, or undefined when its value is not an integer. */
function integerOf(token: string): bigint | undefined {
  const [mantissa = '', exponent = '0'] = token.split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const scale = Number(exponent) - fraction.length;
  const numerator = BigInt(whole + fraction);
  if (scale >= 0) return numerator * 10n ** BigInt(scale);
  const denominator = 10n ** BigInt(-scale);
  return numerator % denominator === 0n ? numerator / denominator : undefined;
}

describe('parseJson', () => {
  it.each<[text: string, value: unknown]>([
    ['{"a":9007199254740993}', { a: 9007199254740993n }],
    ['[9007199254740993, 9007199254740993.5, 1e2]', [9007199254740993n, NaN, 100]],
    ['[1, 1.5, -0.25]', [1, 1.5, -0.25]],
    [
      '{"a":[{"b":1e0}],"c":null,"d":true,"e":false,"f":""}',
      { a: [{ b: 1 }], c: null, d: true, e: false, f: '' },
    ],
    ['9223372036854775807', 9223372036854775807n],
    ['"9223372036854775807"', '9223372036854775807'],
    ['null', null],
    ['[1e400, -1e400, 3e299, -2e299]', [Infinity, -Infinity, 3e299, -2e299]],
    ['[2e299, 9007199254740993, 3e299, 1e18]', [2e299, 9007199254740993n, 3e299, 10n ** 18n]],
    ['[5.00000000000000001, 1e-400, 1e-323]', [NaN, NaN, 1e-323]],
    ['["\\"1e18", "1e18\\\\", 1e18]', ['"1e18', '1e18\\', 10n ** 18n]],
    ['{"a":1,"a":2}', { a: 2 }],
    ['{"a":1,"a":9007199254740993}', { a: 9007199254740993n }],
    ['{"a":9007199254740993,"a":1}', { a: 1 }],
    ['{"a":{"b":1e0},"a":{}}', { a: {} }],
    ['{"a":[1e0],"a":[2]}', { a: [2] }],
  ])('parses %s', (text, value) => {
    expect(parse(text)).toEqual(value);
  });

  it.each(['{"__proto__":{"a":1}}', '{"__proto__":{"a":1e18}}'])(
    'creates an ordinary property from %s',
    (text) => {
      const value = parse(text) as object;

      expect(Object.keys(value)).toEqual(['__proto__']);
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    },
  );

  it('returns the same as the native parser for exact numbers', () => {
    const random = seededRandom(3);
    const wrong = Array.from({ length: 5_000 }, () => `[1e0,${randomJson(random, 4)}]`).filter(
      (text) => JSON.stringify(parse(text)) !== JSON.stringify(JSON.parse(text)),
    );

    expect(wrong).toEqual([]);
  });

  it('returns the same as lossless-json', () => {
    const random = seededRandom(5);
    const wrong = Array.from({ length: 3_000 }, () =>
      randomJson(random, 4, [...NUMBERS, ...INEXACT]),
    ).filter((text) => {
      const expected = parseLossless(text, null, {
        parseNumber: exactNumber,
        onDuplicateKey: ({ newValue }) => newValue,
      });
      return !isDeepStrictEqual(parse(text), expected);
    });

    expect(wrong).toEqual([]);
  });

  it.each([
    ...['01e18', '-05', '-01e18', '[1e18e1]', '[1e18 1]', '{1e18:1}', '{"a":{1e18 : 1},"a":1}'],
    ...['[-1e18-]', '[+1e18]', '[.9007199254740993]', '[9007199254740993.]', '[1e18"a"]'],
    ...['["a"1e18]', '["a1e18]', '-', '[1e]', `[${'0'.repeat(101)}]`],
  ])('rejects %s', (text) => {
    expect(() => parse(text)).toThrow('cannot be parsed');
  });

  it('rejects exactly the texts that the native parser rejects', () => {
    const random = seededRandom(4);
    const texts = Array.from({ length: 5_000 }, () =>
      damaged(`[1e0,${randomJson(random, 3)}]`, random),
    );

    expect(texts.filter((text) => isRejected(parse, text))).toEqual(
      texts.filter((text) => isRejected(JSON.parse, text)),
    );
    expect(texts.filter((text) => isRejected(parse, text)).length).toBeGreaterThan(2_000);
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

const STRINGS = [
  ...[
    '""',
    '"a"',
    '"\\u0061"',
    '"\\ud83d"',
    '"🐈\\n\\"\\\\\\/"',
    '"__proto__"',
    '"\u2028"',
    '"é[{"',
  ],
];

const NUMBERS = ['0', '-1', '1.5', '1e3', '1E-2', '123456789012', '-0.125', '1.0'];
const INEXACT = [
  ...['1e18', '-9007199254740993', '5.00000000000000001', '1e-400', '2e299', '-1e400'],
  '9'.repeat(101),
];

function randomJson(random: () => number, depth: number, numbers = NUMBERS): string {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!;
  const times = Math.floor(random() * 5);
  const items = (text: () => string): string =>
    Array.from({ length: times }, text).join(pick([',', ' , ', ',\n']));
  const kind = depth === 0 ? Math.floor(random() * 3) : Math.floor(random() * 5);
  switch (kind) {
    case 0:
      return pick(STRINGS);
    case 1:
      return pick(numbers);
    case 2:
      return pick(['true', 'false', 'null']);
    case 3:
      return `[${items(() => randomJson(random, depth - 1, numbers))}]`;
    default:
      return `{${items(() => `${pick(STRINGS)}: ${randomJson(random, depth - 1, numbers)}`)}}`;
  }
}

/** Removes, doubles or replaces a character. */
function damaged(text: string, random: () => number): string {
  const at = Math.floor(random() * text.length);
  const what = ['', text[at]!.repeat(2), '"', ',', '}', '0', '\\', '\n', 'e'][
    Math.floor(random() * 9)
  ]!;
  return text.slice(0, at) + what + text.slice(at + 1);
}
