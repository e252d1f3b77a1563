import { InvalidArgumentError } from 'commander';
import { AdministrationError } from '../../auth/administration/administration-error.js';
import { toOwnerName } from '../../auth/administration/owner-name.js';
import { MAX_CUSTOM_LIMIT } from '../../auth/plan.js';

const MAX_ID = 2n ** 63n - 1n;
const MAX_ANIMALS = 100_000_000;
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** Some hundred years: PostgreSQL's times reach further, ISO 8601's four-digit years too. */
const MAX_DURATION_MS = 36_500 * UNIT_MS.d;

/** Reads the identifier of a key. @throws InvalidArgumentError */
export function parseId(text: string): bigint {
  const id = /^[1-9]\d{0,18}$/.test(text) ? BigInt(text) : 0n;
  if (id < 1n || id > MAX_ID)
    throw new InvalidArgumentError('It is the number of a key, see "keys list".');
  return id;
}

/** Reads the identifier of a key, as a bigint, or takes the text for the key itself. @throws InvalidArgumentError */
export function parseKeyOrId(text: string): bigint | string {
  return /^\d+$/.test(text) ? parseId(text) : text;
}

/** Reads a length of time, such as 90d, 24h, 30m, 45s or 0. Returns milliseconds. @throws InvalidArgumentError */
export function parseDuration(text: string): number {
  const [, number, unit] = /^(\d{1,10})([smhd])$/.exec(text) ?? /^(0)$/.exec(text) ?? [];
  const durationMs = Number(number) * UNIT_MS[(unit ?? 's') as keyof typeof UNIT_MS];
  // NaN when it did not read.
  if (!(durationMs <= MAX_DURATION_MS)) {
    throw new InvalidArgumentError(
      'It takes a time such as 90d, 24h, 30m or 45s, 36500d at the most.',
    );
  }
  return durationMs;
}

/** As parseDuration, but not 0. */
export function parseLifetime(text: string): number {
  const lifetimeMs = parseDuration(text);
  if (lifetimeMs === 0) throw new InvalidArgumentError('A key that has expired is of no use.');
  return lifetimeMs;
}

export function parseLimit(text: string): number {
  return parseCount(text, MAX_CUSTOM_LIMIT);
}

export function parseAnimals(text: string): number {
  return parseCount(text, MAX_ANIMALS);
}

export function parseOwner(text: string): string {
  try {
    return toOwnerName(text);
  } catch (error) {
    throw error instanceof AdministrationError
      ? new InvalidArgumentError(`${error.message}.`)
      : error;
  }
}

function parseCount(text: string, max: number): number {
  const count = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : NaN;
  if (!(count <= max)) throw new InvalidArgumentError(`It takes an integer from 1 to ${max}.`);
  return count;
}
