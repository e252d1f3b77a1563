import { createHash } from 'node:crypto';
import { jsonText } from '../http/response/json-text.js';

/**
 * Returns the SHA-256 of an operation and its validated values as JSON. The order of the properties
 * of an object and undefined properties do not matter.
 */
export function fingerprintOf(operation: string, content: object): Buffer {
  return createHash('sha256')
    .update(jsonText([operation, sorted(content)]))
    .digest();
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}
