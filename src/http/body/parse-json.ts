import { isUtf8 } from 'node:buffer';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError } from '../../errors/service-error.js';

const MAX_DEPTH = 32;
const MAX_VALUES = 10_000;
const MAX_NUMBER_LENGTH = 100;
/** A double holds every number of 15 digits, and a token of this length with more has no exponent. */
const MAX_SHORT_LENGTH = 16;

/** sign, integer digits, fraction digits, exponent (RFC 8259, section 6) */
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Matches at every digit or minus, so that the scan takes linear time. */
const LIKE_A_NUMBER = /[\d.eE+-]+/y;

/** Larger numbers stand for exact numbers, and those that a client sends are marked as well. */
const MAX_UNMARKED = 1e299;

/**
 * Parses JSON (RFC 8259) and keeps integers up to 2^63 exact: a number up to 2^53 - 1, a bigint
 * above. If an object contains a name twice, the last value counts.
 *
 * @throws ServiceError malformed_json
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw malformedJson('is not valid UTF-8');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw malformedJson('begins with a byte order mark');
  }
  const exact: (number | bigint)[] = [];
  const text = markNumbers(bytes.toString('utf8'), exact);
  try {
    const value: unknown = JSON.parse(text);
    return exact.length === 0 ? value : withExactNumbers(value, exact);
  } catch (error) {
    throw malformedJson('cannot be parsed', error);
  }
}

/**
 * Returns JSON with other numbers, the marks, in place of those that a double does not hold. The
 * native parser then decides whether the text is valid, because a mark is valid in the same places.
 *
 * @param exact gets the exact value of each mark
 * @throws ServiceError malformed_json if the text is nested too deep for the native parser, or has
 *   so many values that parsing takes long
 */
function markNumbers(text: string, exact: (number | bigint)[]): string {
  const marked: string[] = [];
  let copiedTo = 0;
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
      if (code === 0x2c || (isFirst && !closes)) values++;
      isFirst = code === 0x7b || code === 0x5b;
      inString = code === 0x22;
      if (closes) depth--;
      if (isFirst && ++depth > MAX_DEPTH) {
        throw malformedJson(`is nested deeper than ${MAX_DEPTH} levels`);
      }
      if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
        LIKE_A_NUMBER.lastIndex = index;
        LIKE_A_NUMBER.test(text);
        const end = LIKE_A_NUMBER.lastIndex;
        const token = text.slice(index, end);
        const double = Number(token);
        const value = exactNumber(token);
        if ((!Object.is(value, double) || isMark(double)) && NUMBER.test(token)) {
          marked.push(text.slice(copiedTo, index), `${exact.push(value) + 1}e299`);
          copiedTo = end;
        }
        index = end - 1;
      }
    }
  }
  if (values > MAX_VALUES) {
    const max = MAX_VALUES.toLocaleString('en-US');
    throw malformedJson(`has more than ${max} members and elements in total`);
  }
  return marked.join('') + text.slice(copiedTo);
}

function isMark(number: number): boolean {
  return Math.abs(number) > MAX_UNMARKED;
}

/** Returns a value with exact numbers in place of the marks. It changes objects in place. */
function withExactNumbers(value: unknown, exact: readonly (number | bigint)[]): unknown {
  if (typeof value === 'number')
    return isMark(value) ? exact[Math.round(value / MAX_UNMARKED) - 2] : value;
  // A copy: one bigint in an array of doubles would convert the whole array.
  if (Array.isArray(value)) return value.map((item) => withExactNumbers(item, exact));
  if (typeof value === 'object' && value !== null) {
    const members = value as Record<string, unknown>;
    for (const name of Object.keys(members)) {
      const member = withExactNumbers(members[name], exact);
      // An assignment to `__proto__` would create no member.
      if (name === '__proto__') Object.defineProperty(members, name, { value: member });
      else members[name] = member;
    }
  }
  return value;
}

/**
 * Returns the value of a JSON number token. An integer up to 2^63 is exact: a bigint when a double
 * cannot hold it. Any other value is the nearest double, or NaN when that is an integer.
 */
export function exactNumber(token: string): number | bigint {
  if (token.length > MAX_NUMBER_LENGTH) return NaN;
  const double = Number(token);
  if (!Number.isInteger(double) || Math.abs(double) > 2 ** 63) return double;
  const isSafe = Number.isSafeInteger(double);
  if (isSafe && double !== 0 && token.length <= MAX_SHORT_LENGTH) return double;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = NUMBER.exec(token) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0;
  const significant = digits.replace(/0+$/, '');
  // The value is significant × 10^scale, and the last digit of `significant` is not 0.
  const scale = Number(exponentText) - fraction.length + (digits.length - significant.length);
  if (scale < 0) return NaN;
  return isSafe ? double : BigInt(sign + significant + '0'.repeat(scale));
}

/** Returns the 400 for a body that cannot be parsed. @param problem completes "The request body …" */
function malformedJson(problem: string, cause?: unknown): ServiceError {
  return new ServiceError('malformed_json', PUBLIC_MESSAGES.malformedJson(problem), { cause });
}
