import { createHash } from 'node:crypto';

/**
 * Returns the SHA-256 of an operation and its validated values. Different values have different
 * fingerprints; the order of the properties of an object and undefined properties do not matter.
 * A change in how values are written as JSON makes retries of requests from before it fail.
 *
 * @throws TypeError for a value that cannot be compared, such as a Map or undefined in an array
 */
export function fingerprintOf(operation: string, content: object): Buffer {
  const values: unknown[] = Array.isArray(content) ? Array.from(content) : [content];
  const text = JSON.stringify([operation, ...values.map(comparable)]);
  return createHash('sha256').update(text).digest();
}

/** Writes everything but arrays, text, numbers, booleans and null as an object that states its type. */
function comparable(value: unknown): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'bigint') return { int64: value.toString() };
  if (Array.isArray(value)) return Array.from(value, comparable);
  if (value instanceof Date) return { date: value.getTime() };
  const type = Object.prototype.toString.call(value);
  if (type !== '[object Object]') {
    throw new TypeError(
      `The content of an idempotent request contains ${type}, which cannot be compared. Use DTOs, arrays, text, numbers, bigints, booleans, dates and null.`,
    );
  }
  const members = Object.entries(value as object)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return { object: members.map(([name, member]) => [name, comparable(member)]) };
}
