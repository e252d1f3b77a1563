import { SECOND_MS } from '../../config/clock.js';
import { endOfBan } from '../in-process-storage.js';
import {
  type Budget,
  type Quota,
  type RateLimitDecision,
  type Rejections,
  type Reservation,
} from '../limit-storage.js';
import { LIMIT_SCRIPTS } from './limit-script.js';
import type { RedisConnection } from './redis-connection.js';

/** A mode of the script, see limit-script.ts. */
export type LimitMode =
  | { readonly name: 'consume' | 'peek' }
  | { readonly name: 'reserve'; readonly lookupsPerSecond: number }
  /** `endsAtMs`: the end of the window in which the request was counted. */
  | { readonly name: 'refund'; readonly endsAtMs: number };

/** Returns the arguments of the script. */
function scriptArguments({ quotas, ban }: Budget, mode: LimitMode): (string | number)[] {
  const windows: (Omit<Quota, 'name'> & { name: string })[] = [...quotas];
  if (mode.name === 'reserve') {
    windows.push({ name: 'lookups', limit: mode.lookupsPerSecond, lengthMs: SECOND_MS });
  }
  const call: (string | number)[] = [mode.name, windows.length];
  if (mode.name === 'refund') call.push(mode.endsAtMs, 0, 0);
  else if (ban) call.push(ban.unbanCount, ban.afterRejections, ban.lengthMs);
  else call.push(0, 0, 0);
  for (const { limit } of windows) call.push(limit);
  for (const { lengthMs } of windows) call.push(lengthMs);
  for (const { name, route } of windows) call.push(route === undefined ? name : `route:${route}`);
  if (ban) call.push(`ban:${ban.lineageId}`);
  return call;
}

/** Runs the script for a budget. Returns the numbers to parse. @throws RedisFailure */
export function runLimitScript(
  connection: RedisConnection,
  prefix: string,
  budget: Budget,
  mode: LimitMode,
): Promise<number[]> {
  const key = `${prefix}{${budget.kind}:${budget.id}}`;
  return connection.run(LIMIT_SCRIPTS[budget.kind], key, scriptArguments(budget, mode));
}

/** The reply of the script. */
export interface LimitReply extends Reservation {
  /** The rejections of the budget's lineage, undefined if there are none. */
  readonly rejections: Rejections | undefined;
}

/** @param reply the numbers that the script returned for this budget */
export function parseReply({ quotas, ban }: Budget, mode: LimitMode, reply: number[]): LimitReply {
  const at = (index: number): number => reply[index] ?? 0;
  const windows = quotas.map((quota, window) => ({
    quota,
    used: at(2 * window + 2),
    endsAtMs: at(2 * window + 3),
  }));
  const outcome = at(0);
  const nowMs = at(1);
  const rest = 2 + 2 * (windows.length + (mode.name === 'reserve' ? 1 : 0));
  const rejections =
    reply.length > rest
      ? {
          count: at(rest),
          windowEndsAtMs: at(rest + 1),
          bannedUntilMs: at(rest + 2),
          unbanCount: at(rest + 3),
        }
      : undefined;
  const bannedUntilMs = ban && endOfBan(ban, rejections, nowMs);
  const decision: RateLimitDecision = {
    allowed: outcome === 1,
    nowMs,
    windows,
    ...(bannedUntilMs !== undefined && { bannedUntilMs }),
    ...(outcome === 2 && { banBegins: true }),
  };
  return { decision, mayLookUp: outcome === 1 || outcome === 3, rejections };
}
