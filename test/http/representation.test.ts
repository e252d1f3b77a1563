import { jsonText } from '../../src/platform/http/response/json-text.js';

describe('jsonText', () => {
  it.each<[value: unknown, text: string]>([
    [9223372036854775807n, '9223372036854775807'],
    [-9223372036854775808n, '-9223372036854775808'],
    [0n, '0'],
    [{ id: 9007199254740993n }, '{"id":9007199254740993}'],
    [[1n, [2n, { a: 3n }]], '[1,[2,{"a":3}]]'],
    [{ when: new Date(0) }, '{"when":"1970-01-01T00:00:00.000Z"}'],
    [{ toJSON: () => ({ id: 1n }) }, '{"id":1}'],
    [undefined, 'null'],
  ])('serializes %p', (value, text) => {
    expect(jsonText(value)).toBe(text);
  });

  it.each<[unknown]>([
    ...[null, true, -0, 1.5, 1e21, NaN, Infinity, [], {}].map((value): [unknown] => [value]),
    ...['', '"', '\\', '\n', '\u001f', '\ud800', '\udfff', '\u{1f408}'].map((text): [unknown] => [
      text,
    ]),
    ['"\\/\b\f\n\r\t\u0000\u001f\u007f\u2028\u{1f408}'],
    [' !#[]~'],
    ['é\u007f\u0085\u2028\ufeff'],
    ['\ud7ff\ue000\uffff'],
    [[undefined, null, () => 1]],
    [{ a: undefined, b: () => 1, c: null, d: 0 }],
    [{ a: undefined }],
    [{ a: [{}, [], ''], 'b"\\\n': { c: {} }, '': 1, 2: 3 }],
    [JSON.parse('{"__proto__":{"a":1},"constructor":null}')],
    [
      Object.create(
        { inherited: 1 },
        { own: { value: 2, enumerable: true }, hidden: { value: 3 } },
      ),
    ],
    [new Date(1e12)],
  ])('serializes %j like JSON.stringify', (value) => {
    expect(jsonText(value)).toBe(JSON.stringify(value));
  });
});
