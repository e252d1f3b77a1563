import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { countUpTo, parseInt64Argument } from '../arguments.js';
import { keyForms } from '../../config/key-forms.js';
import {
  type Access,
  MAX_CUSTOM_LIMIT,
  type PlanTable,
  type StoredPlan,
} from '../../config/plan-limits.js';
import type { Product } from '../../config/product.js';

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
/** About a hundred years, within the range of PostgreSQL and of ISO 8601's four-digit years. */
const MAX_DURATION_MS = 36_500 * UNIT_MS.d;

// All parsers throw InvalidArgumentError.

export function parseId(text: string): bigint {
  const id = /^\d+$/.test(text) ? parseInt64Argument(text) : 0n;
  if (id > 0n) return id;
  throw new InvalidArgumentError('Expected an id that `keys list` shows.');
}

/** Parses a duration such as 2w, 90d, 24h, 30m, 45s or 0 to milliseconds. */
export function parseDuration(text: string): number {
  const [, number, unit] = /^(\d{1,10})([smhdw])$/.exec(text) ?? /^(0)$/.exec(text) ?? [];
  const durationMs = Number(number) * UNIT_MS[(unit ?? 's') as keyof typeof UNIT_MS];
  // NaN if the text is malformed.
  if (durationMs <= MAX_DURATION_MS) return durationMs;
  throw new InvalidArgumentError('Expected a duration such as 2w, 90d or 24h, at most 36500d.');
}

/** Parses a duration that is longer than 0 to milliseconds. */
export function parseLifetime(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs > 0) return durationMs;
  throw new InvalidArgumentError('Expected a duration longer than 0.');
}

/** Parses a day such as 2026-11-26. */
export function parseDay(text: string): string {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  // JavaScript would read 2026-02-30 as a day of March.
  if (Number(day) >= 0 && day?.toISOString().startsWith(text)) return text;
  throw new InvalidArgumentError('Expected a UTC day such as 2026-11-26.');
}

/** Returns the start of a UTC day, or a time such as 2026-11-26T10:00Z. */
export function parseSince(text: string): Date {
  return parseTime(text, 0);
}

/** Returns the end of a UTC day, or a time such as 2026-11-26T10:00Z. */
export function parseUntil(text: string): Date {
  return parseTime(text, UNIT_MS.d);
}

function parseTime(text: string, dayMs: number): Date {
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/.test(text)) {
    const time = new Date(text);
    if (Number(time) >= 0) return time;
  } else if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return new Date(Date.parse(parseDay(text)) + dayMs);
  throw new InvalidArgumentError('Expected a UTC day, or a time such as 2026-11-26T10:00Z.');
}

/** Parses the path of a new migration, without its number and ending. @throws Error without sources */
export function parseMigrationPath(text: string): string {
  if (!existsSync('src/app.module.ts')) {
    throw new Error('There are no sources here. Run the command in the folder of a checkout.');
  }
  const path = text.replaceAll('\\', '/').replace(/^\.\//, '');
  if (/^src\/(?:[\w-]+\/)+migrations\/[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(path)) return path;
  throw new InvalidArgumentError('Expected a path such as src/toys/migrations/add-colour.');
}

/** Returns a parser of the name of an owner. */
export function ownerOf({ keyPrefix }: Product): (text: string) => string {
  return textUpTo(255, keyPrefix, 'An API key is not the name of an owner.');
}

/** Returns a parser of a note about an API key. */
export function noteOf({ keyPrefix }: Product): (text: string) => string {
  return textUpTo(200, keyPrefix, 'A note must not contain an API key.');
}

/** Returns a parser of a text without API keys and characters that could change what a terminal shows. */
function textUpTo(max: number, keyPrefix: string, noKey: string): (text: string) => string {
  const form = new RegExp(`^[^\\p{C}\\p{Zl}\\p{Zp}]{1,${max}}$`, 'u');
  return (text) => {
    const trimmed = text.trim();
    if (trimmed.search(keyForms(keyPrefix).inText) >= 0) throw new InvalidArgumentError(noKey);
    if (form.test(trimmed)) return trimmed;
    throw new InvalidArgumentError(`Expected 1 to ${max} characters without control characters.`);
  };
}

/** The options of all commands. Commander checks which of them a command has and requires. */
export interface Options {
  owner?: string;
  plan?: string;
  perMinute?: number;
  perDay?: number;
  /** In milliseconds. */
  expiresIn?: number;
  /** In milliseconds. */
  overlap?: number;
  status?: string;
  days?: number;
  day?: string;
  note?: string;
  access?: Access;
  readOnly?: true;
  /** false: --no-expiry */
  expiry?: boolean;
  yes?: true;
  csv?: true;
}

/** Adds --plan, --per-minute and --per-day. Limits that do not match the plan are a usage error. */
export function addPlanOptions(
  command: Command,
  plans: PlanTable,
  { required }: { required: boolean },
): void {
  const customPlans = Object.keys(plans).filter((name) => plans[name] === null);
  const custom = `--plan ${customPlans.join(' or ')}`;
  const limit = countUpTo(MAX_CUSTOM_LIMIT);
  const description = required ? 'the new plan' : 'the plan of the owner, required if it is new';
  const plan = new Option('--plan <plan>', description).choices(Object.keys(plans));
  command.addOption(plan.makeOptionMandatory(required));
  if (customPlans.length === 0) return;
  command
    .option('--per-minute <n>', `requests per minute, only with ${custom}`, limit)
    .option('--per-day <n>', `requests per day, only with ${custom}`, limit)
    .hook('preAction', () => {
      const { plan, perMinute, perDay } = command.opts<Options>();
      const isCustom = plan !== undefined && customPlans.includes(plan);
      if ([perMinute, perDay].every((value) => (value !== undefined) === isCustom)) return;
      command.error(`error: --per-minute and --per-day are required with, and require, ${custom}`);
    });
}

/** Returns the plan with the limits of the options. */
export function storedPlan({ plan, perMinute, perDay }: Options & { plan: string }): StoredPlan {
  return { plan, limitPerMinute: perMinute ?? null, limitPerDay: perDay ?? null };
}
