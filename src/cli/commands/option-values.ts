import { InvalidArgumentError } from 'commander';
import { AdministrationError } from '../../platform/access/administration/administration-error.js';
import { toOwnerName } from '../../platform/access/administration/owner-name.js';

const MAX_ID = 2n ** 63n - 1n;
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** About a hundred years, within the range of PostgreSQL and of ISO 8601's four-digit years. */
const MAX_DURATION_MS = 36_500 * UNIT_MS.d;

/** Parses the id of an API key. @throws InvalidArgumentError */
export function parseId(text: string): bigint {
  const id = /^[1-9]\d{0,18}$/.test(text) ? BigInt(text) : 0n;
  if (id > 0n && id <= MAX_ID) return id;
  throw new InvalidArgumentError('Expected the id of a key, as `pets keys list` shows it.');
}

/** Parses the id of an API key. Other text is the key itself. @throws InvalidArgumentError */
export function parseKeyOrId(text: string): bigint | string {
  return /^\d+$/.test(text) ? parseId(text) : text;
}

/** Parses a duration such as 90d, 24h, 30m, 45s or 0 to milliseconds. @throws InvalidArgumentError */
export function parseDuration(text: string): number {
  const [, number, unit] = /^(\d{1,10})([smhd])$/.exec(text) ?? /^(0)$/.exec(text) ?? [];
  const durationMs = Number(number) * UNIT_MS[(unit ?? 's') as keyof typeof UNIT_MS];
  // NaN if the text is malformed.
  if (durationMs <= MAX_DURATION_MS) return durationMs;
  const expected = 'Expected a duration such as 90d, 24h, 30m or 45s, at most 36500d.';
  throw new InvalidArgumentError(expected);
}

/** As parseDuration, but not 0. */
export function parseLifetime(text: string): number {
  const lifetimeMs = parseDuration(text);
  if (lifetimeMs === 0) throw new InvalidArgumentError('Expected a lifetime greater than 0.');
  return lifetimeMs;
}

export function parseOwner(text: string): string {
  try {
    return toOwnerName(text);
  } catch (error) {
    throw error instanceof AdministrationError ? new InvalidArgumentError(error.message) : error;
  }
}

/** Returns a parser of integers from 1 to max. */
export function countUpTo(max: number): (text: string) => number {
  return (text) => {
    const count = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : NaN;
    if (count <= max) return count;
    throw new InvalidArgumentError(`Expected an integer from 1 to ${max}.`);
  };
}
