import type { PipeTransform } from '@nestjs/common';
import { ServiceError } from '../../errors/service-error.js';

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

const CANONICAL_DECIMAL = /^(?:0|-?[1-9]\d{0,18})$/;

/** Returns whether a value is a bigint in the range of a signed 64-bit integer. */
export function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX;
}

/** Returns the int64 that canonical decimal text denotes, or undefined when it denotes none. */
export function parseInt64(text: string): bigint | undefined {
  if (!CANONICAL_DECIMAL.test(text)) return undefined;
  const value = BigInt(text);
  return isInt64(value) ? value : undefined;
}

/** Parses an id in a path. Text that is not a canonical int64 identifies nothing. */
export class Int64Pipe implements PipeTransform<unknown, bigint> {
  /** @param notFound creates the 404 */
  constructor(private readonly notFound: () => Error) {}

  /** @throws the 404. The message of a ServiceError also says what an identifier is */
  transform(text: unknown): bigint {
    const id = typeof text === 'string' ? parseInt64(text) : undefined;
    if (id !== undefined) return id;
    const error = this.notFound();
    if (!(error instanceof ServiceError)) throw error;
    const { code, status, headers, message } = error;
    const when = `${message} An identifier is a 64-bit integer, such as 42.`;
    throw new ServiceError({ code, status, when }, when, { headers });
  }
}
