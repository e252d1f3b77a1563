import { isUtf8 } from 'node:buffer';
import { parse as parseLossless } from 'lossless-json';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError } from '../../errors/service-error.js';

const MAX_DEPTH = 32;
const MAX_NUMBER_LENGTH = 100;

/** Finds tokens that a double can fail to represent exactly: 16 digits in a row, or an exponent. */
const MAY_LOSE_DIGITS = /\d[\d.]{15}|\d[eE]/;
/** sign, integer digits, fraction digits, exponent (RFC 8259, section 6) */
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Parses JSON (RFC 8259) and keeps integers exact: a number up to 2^53 - 1, a bigint above. If an
 * object contains a name twice, the last value counts.
 *
 * @throws ServiceError malformed_json
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw malformedJson('is not valid UTF-8');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw malformedJson('begins with a byte order mark');
  }
  const text = bytes.toString('utf8');
  // Before parsing, because a deeply nested body would overflow the stack of the parser.
  if (nestsTooDeep(text)) throw malformedJson(`is nested deeper than ${MAX_DEPTH} levels`);
  try {
    // The native parser decides what is valid JSON, even if the lossless parser runs after it.
    const value: unknown = JSON.parse(text);
    if (!MAY_LOSE_DIGITS.test(text)) return value;
    return parseLossless(text, null, {
      parseNumber: exactNumber,
      onDuplicateKey: ({ newValue }) => newValue,
    });
  } catch (error) {
    throw malformedJson('cannot be parsed', error);
  }
}

/**
 * Returns the value of a JSON number token. An integer is exact: a bigint when a double cannot hold
 * it. Any other value is the nearest double, or NaN when the nearest double is an integer.
 */
export function exactNumber(token: string): number | bigint {
  if (token.length > MAX_NUMBER_LENGTH) return NaN;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = NUMBER.exec(token) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0;
  const significant = digits.replace(/0+$/, '');
  // The value is significant × 10^scale, and the last digit of `significant` is not 0.
  const scale = Number(exponentText) - fraction.length + (digits.length - significant.length);
  const double = Number(token);
  if (scale < 0) return Number.isInteger(double) ? NaN : double;
  if (Number.isSafeInteger(double)) return double;
  // Such a large integer is always invalid, so it is not worth the time to build it.
  if (significant.length + scale > MAX_NUMBER_LENGTH) return double;
  return BigInt(sign + significant + '0'.repeat(scale));
}

function nestsTooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 0x5c) index++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > MAX_DEPTH) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}

/** Returns the 400 for a body that cannot be parsed. @param problem completes "The request body …" */
export function malformedJson(problem: string, cause?: unknown): ServiceError {
  return new ServiceError('malformed_json', PUBLIC_MESSAGES.malformedJson(problem), { cause });
}
