import { createHash } from 'node:crypto';

/**
 * Returns the SHA-256 of an operation and its validated values. The order of the properties of an
 * object and undefined properties do not matter. A change in how values are written as JSON makes
 * retries of requests from before it fail.
 */
export function fingerprintOf(operation: string, content: object): Buffer {
  const values: unknown[] = Array.isArray(content) ? content : [content];
  const text = JSON.stringify([operation, ...values], comparable);
  return createHash('sha256').update(text).digest();
}

/** Replaces a bigint by an object with its type, and another object by its members in order. */
function comparable(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return { int64: value.toString() };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return { object: members.sort(([a], [b]) => (a < b ? -1 : 1)) };
}
