import { isUtf8 } from 'node:buffer';
import { parse as parseLossless } from 'lossless-json';
import { ServiceError } from '../../errors/service-error.js';

const MAX_DEPTH = 32;
const MAX_NUMBER_LENGTH = 100;

/** A token that a double may not hold exactly: sixteen digits in a row, or an exponent. */
const MAY_LOSE_DIGITS = /\d[\d.]{15}|\d[eE]/;
/** sign, integer digits, fraction digits, exponent (RFC 8259, section 6) */
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Parses JSON text (RFC 8259). A number that is an integer comes back exact: as a number up to
 * 2^53 - 1, beyond as a bigint. One that is not an integer, or is spelt with more than 100
 * characters, never comes back as an integer. Of a member given twice, the last counts.
 *
 * @param bytes the body, decoded
 * @throws ServiceError malformed_json when the bytes are not JSON in UTF-8 without byte order mark,
 *   or nest deeper than 32
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw malformed('is not valid UTF-8');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw malformed('begins with a byte order mark');
  }
  const text = bytes.toString('utf8');
  // Before parsing: a deeply nested body would exhaust the stack of the parser.
  if (nestsTooDeep(text)) throw malformed(`nests deeper than ${MAX_DEPTH} levels`);
  try {
    // The native parser decides what is JSON, also where the lossless one then reads the numbers.
    const value: unknown = JSON.parse(text);
    return MAY_LOSE_DIGITS.test(text) ? parseExactly(text) : value;
  } catch (error) {
    throw malformed('cannot be parsed', error);
  }
}

function parseExactly(text: string): unknown {
  return parseLossless(text, null, {
    parseNumber: exactNumber,
    onDuplicateKey: ({ newValue }) => newValue,
  });
}

/**
 * Takes a JSON number token. Returns the integer it denotes, as a bigint where a double cannot hold
 * it; else the nearest double, or NaN where that would be an integer which the token is not.
 */
export function exactNumber(token: string): number | bigint {
  if (token.length > MAX_NUMBER_LENGTH) return NaN;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = NUMBER.exec(token) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0;
  const significant = digits.replace(/0+$/, '');
  // The value is significant × 10^scale, the last digit of `significant` not being 0.
  const scale = Number(exponentText) - fraction.length + (digits.length - significant.length);
  const double = Number(token);
  if (scale < 0) return Number.isInteger(double) ? NaN : double;
  if (Number.isSafeInteger(double)) return double;
  // No integer of use has so many digits: spare the time to build it.
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

function malformed(what: string, cause?: unknown): ServiceError {
  return new ServiceError('malformed_json', `The request body ${what}. It must be JSON in UTF-8.`, {
    cause,
  });
}
