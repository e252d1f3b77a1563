import { readIdempotencyKey } from '../../src/platform/idempotency/idempotency-key.js';

const read = (header: string): string | undefined =>
  readIdempotencyKey({ 'idempotency-key': header });

const VISIBLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index));
const quoted = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&')}"`;

describe('the idempotency key of a request', () => {
  it('is undefined without the header', () => {
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
  ])('is the same bare and quoted: %s', (text) => {
    expect(read(text)).toBe(text);
    expect(read(quoted(text))).toBe(text);
  });

  it.each([
    ['"\\""', '"'],
    ['"\\\\"', '\\'],
    ['"\\\\\\""', '\\"'],
    [quoted('"'.repeat(255)), '"'.repeat(255)],
    [quoted(VISIBLE.join('')), VISIBLE.join('')],
  ])('is the unescaped content of the quoted string %s', (header, key) => {
    expect(read(header)).toBe(key);
  });

  it.each([
    ['empty', ''],
    ['an empty string', '""'],
    ['a single quote', '"'],
    ['an unterminated string', '"a'],
    ['an unterminated string that ends in an escape', '"a\\"'],
    ['a quote within a string', '"a"b"'],
    ['an invalid escape', '"\\a"'],
    ['two strings', '"a", "b"'],
    ['two headers whose joined value looks like one string', '"a, b"'],
    ['two keys', 'a, b'],
    ['a key and an empty one', 'a, '],
    ['with a parameter', '"a";b=1'],
    ['with a space', 'a b'],
    ['with a space in a string', '"a b"'],
    ['with a tab', 'a\tb'],
    ['with a control character', 'a\x7f'],
    ['with a non-ASCII character', 'é'],
    ['with a non-ASCII character in a string', '"é"'],
    ['of 256 characters', 'x'.repeat(256)],
    ['of 256 characters in a string', quoted('x'.repeat(256))],
    ['of 256 escaped characters', quoted('"'.repeat(256))],
    ['with a line feed', 'a\n'],
  ])('is rejected: %s', (_title, header) => {
    expect(() => read(header)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringMatching(/^Idempotency-Key must be 1 to 255 visible ASCII/),
      }),
    );
  });

  it.each(VISIBLE)('may contain %s in a string', (character) => {
    expect(read(quoted(character))).toBe(character);
  });
});
