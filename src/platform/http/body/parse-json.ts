import { isUtf8 } from 'node:buffer';
import { parse, type ParseOptions } from 'lossless-json';
import { MAX_BODY_VALUES } from '../../config/bounds.js';
import { ServiceError } from '../../errors/service-error.js';

const MAX_DEPTH = 32;
const MAX_NUMBER_LENGTH = 100;
/** Finding the position of an error takes as long as parsing the text again. */
const MAX_LOCATED_LENGTH = 4_096;

/** sign, integer digits, fraction digits, exponent (RFC 8259, section 6) */
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Other numbers have at most 15 digits and no exponent, so that a double holds them. */
const MAY_BE_INEXACT = /[\d.]{16}|\d[eE]|-0/;

const EXACT: ParseOptions = {
  parseNumber: exactNumber,
  onDuplicateKey: ({ newValue }) => newValue,
};

/**
 * Parses JSON (RFC 8259) and keeps integers up to 2^63 exact: a number up to 2^53 - 1, a bigint
 * above. If an object contains a name twice, the last value counts.
 *
 * @param maxValues members and elements in total
 * @param subject of the message
 * @throws ServiceError malformed_json
 */
export function parseJson(
  bytes: Buffer,
  maxValues = MAX_BODY_VALUES,
  subject = 'The request body',
): unknown {
  const malformedJson = (problem: string) =>
    new ServiceError('malformed_json', `${subject} ${problem}.`);
  if (!isUtf8(bytes)) throw malformedJson('is not JSON in UTF-8');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw malformedJson('begins with a byte order mark');
  }
  const text = bytes.toString('utf8');
  const excess = findExcess(text, maxValues);
  if (excess !== undefined) throw malformedJson(excess);
  try {
    return parseExact(text);
  } catch {
    const isShort = text.length <= MAX_LOCATED_LENGTH;
    const where = isShort ? ` from character ${positionOf(text) + 1} on` : '';
    throw malformedJson(`is not JSON${where}`);
  }
}

/** Parses JSON of a bounded size. @throws SyntaxError */
export function parseExact(text: string): unknown {
  return MAY_BE_INEXACT.test(text) ? parse(text, null, EXACT) : JSON.parse(text);
}

/** Returns where the text stops being JSON, in UTF-16 units. JSON.parse often does not say it. */
function positionOf(text: string): number {
  try {
    parse(text, null, EXACT);
    return 0;
  } catch (error) {
    return Number(/position (\d+)/.exec(String(error))?.[1] ?? text.length);
  }
}

/**
 * Returns the problem of a text that is nested too deep for the native parser, or has more values than the
 * limit, because parsing them would take too long.
 */
function findExcess(text: string, maxValues: number): string | undefined {
  let depth = 0;
  let values = 0;
  let inString = false;
  let isFirst = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 0x5c) index++;
      else if (code === 0x22) inString = false;
    } else if (code > 0x20) {
      const closes = code === 0x7d || code === 0x5d;
      // A member or an element begins after each comma, and at the start of each container.
      if ((code === 0x2c || (isFirst && !closes)) && ++values > maxValues) {
        const limit = maxValues.toLocaleString('en-US');
        return `has more than ${limit} members and elements in total`;
      }
      isFirst = code === 0x7b || code === 0x5b;
      inString = code === 0x22;
      if (closes) depth--;
      if (isFirst && ++depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
    }
  }
  return undefined;
}

/**
 * Returns the value of a JSON number token: an exact integer up to 2^63, as a bigint if a double cannot
 * hold it, or else the nearest double. NaN: a long token, or a fraction that rounds to an integer.
 */
export function exactNumber(token: string): number | bigint {
  if (token.length > MAX_NUMBER_LENGTH) return NaN;
  const double = Number(token);
  if (!Number.isInteger(double) || Math.abs(double) > 2 ** 63) return double;
  if (!MAY_BE_INEXACT.test(token)) return double;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(token) ?? [];
  const isSafe = Number.isSafeInteger(double);
  // A double holds n × 10^10 up to 2^63, because n × 5^10 is at most 2^53. This is fast.
  if (!isSafe && fraction === '' && Number(exponent) >= 10) return BigInt(double);
  const point = Math.max(0, whole.length + Number(exponent));
  const digits = whole + fraction;
  if (/[1-9]/.test(digits.slice(point))) return NaN;
  // The sum turns -0 into 0.
  return isSafe ? double + 0 : BigInt(sign + digits.slice(0, point).padEnd(point, '0'));
}
