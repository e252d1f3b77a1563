// @ts-check

import { randomUUID } from 'node:crypto';

// A string, or a number that JSON allows. Strings are matched so that digits inside them are left
// alone.
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d+$/;

/**
 * JSON.parse, but every integer is a bigint: an int64 beyond 2^53 would be rounded otherwise.
 * @param {string} text
 * @returns {any}
 * @throws {SyntaxError}
 */
export function parseLossless(text) {
  // No string in the text can begin with this by chance or by intent.
  const mark = randomUUID();
  const marked = text.replace(STRING_OR_NUMBER, (token) =>
    INTEGER.test(token) ? `"${mark}${token}"` : token,
  );
  return JSON.parse(marked, (_key, value) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}
