import { readIdempotencyKey } from '../../src/idempotency/idempotency-key.js';

const read = (field: string): string | undefined =>
  readIdempotencyKey({ 'idempotency-key': field });

const VISIBLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index));
const quoted = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`;

describe('the idempotency key of a request', () => {
  it('is none without the field', () => {
    expect(readIdempotencyKey({})).toBeUndefined();
  });

  it.each([
    'a',
    '0b7c2f6e-5a0e-4f0e-9a55-6c1d3c1a7f42',
    'a,b',
    `a"b`,
    `a"`,
    'a\\b',
    '\\',
    "'",
    VISIBLE.filter((character) => character !== '"').join(''),
    'x'.repeat(255),
  ])('is, bare, the field itself, and quoted the same: %s', (text) => {
    expect(read(text)).toBe(text);
    expect(read(quoted(text))).toBe(text);
  });

  it.each([
    ['"\\""', '"'],
    ['"\\\\"', '\\'],
    ['"\\\\\\""', '\\"'],
    [quoted('"'.repeat(255)), '"'.repeat(255)],
    [quoted(VISIBLE.join('')), VISIBLE.join('')],
  ])('is what the quoted string %s says', (field, key) => {
    expect(read(field)).toBe(key);
  });

  it.each([
    ['empty', ''],
    ['an empty string', '""'],
    ['a lone quote', '"'],
    ['an open string', '"a'],
    ['an open string that ends in an escape', '"a\\"'],
    ['a quote within a string', '"a"b"'],
    ['another escape', '"\\a"'],
    ['two strings', '"a", "b"'],
    ['two that are joined to look like one', '"a, b"'],
    ['two', 'a, b'],
    ['one and an empty one', 'a, '],
    ['with a parameter', '"a";b=1'],
    ['with a space', 'a b'],
    ['with a space in a string', '"a b"'],
    ['with a tab', 'a\tb'],
    ['with a control', 'a\x7f'],
    ['beyond ASCII', 'é'],
    ['beyond ASCII in a string', '"é"'],
    ['of 256 characters', 'x'.repeat(256)],
    ['of 256 characters in a string', quoted('x'.repeat(256))],
    ['of 256 escaped characters', quoted('"'.repeat(256))],
    ['with a line end', 'a\n'],
  ])('is refused: %s', (_what, field) => {
    expect(() => read(field)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringMatching(/^Idempotency-Key must be 1 to 255 visible ASCII/),
      }),
    );
  });

  it.each(VISIBLE)('may be %s in a string', (character) => {
    expect(read(quoted(character))).toBe(character);
  });
});
