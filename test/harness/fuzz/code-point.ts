import fc from 'fast-check';

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST = 0x10ffff;

const toText = (index: number): string =>
  String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES);

/** @throws Error if the text is not one code point, as fast-check expects */
function toIndex(text: unknown): number {
  const code = typeof text === 'string' ? (text.codePointAt(0) ?? NaN) : NaN;
  const index = code < FIRST_SURROGATE ? code : code - SURROGATES;
  if (Number.isNaN(code) || toText(index) !== text) throw new Error('not a code point');
  return index;
}

/**
 * Any Unicode code point but halves of surrogate pairs. The unit `binary` of fast-check, which is the same, takes a
 * second to list all of them.
 */
export const codePoint = fc.integer({ min: 0, max: LAST - SURROGATES }).map(toText, toIndex);
