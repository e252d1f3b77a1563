import { endOfBan } from '../in-process-storage.js';
import type { Budget, RateLimitDecision, Rejections } from '../limit-storage.js';
import { LIMIT_SCRIPTS } from './limit-script.js';
import type { RedisConnection } from './redis-connection.js';

/** Whether the script counts the request, see limit-script.ts. */
export type LimitMode = 'consume' | 'peek';

/** Runs the script for a budget. Returns the numbers to parse. @throws RedisFailure */
export function runLimitScript(
  connection: RedisConnection,
  prefix: string,
  budget: Budget,
  mode: LimitMode,
): Promise<number[]> {
  const { kind, id, quotas, ban } = budget;
  const call: (string | number)[] = [mode, quotas.length];
  if (ban) call.push(ban.unbanCount, ban.afterRejections, ban.lengthMs);
  else call.push(0, 0, 0);
  for (const { limit } of quotas) call.push(limit);
  for (const { lengthMs } of quotas) call.push(lengthMs);
  for (const { name, route } of quotas) call.push(route === undefined ? name : `route:${route}`);
  if (ban) call.push(`ban:${ban.lineageId}`);
  return connection.run(LIMIT_SCRIPTS[kind], `${prefix}{${kind}:${id}}`, call);
}

/**
 * Returns the decision, and the rejections of the budget's lineage if there are any.
 *
 * @param reply the numbers that the script returned for this budget
 */
export function parseReply(
  { quotas, ban }: Budget,
  reply: readonly number[],
): { decision: RateLimitDecision; rejections: Rejections | undefined } {
  const at = (index: number): number => reply[index] ?? 0;
  const windows = quotas.map((quota, window) => ({
    quota,
    used: at(2 * window + 2),
    endsAtMs: at(2 * window + 3),
  }));
  const [outcome, nowMs, rest] = [at(0), at(1), 2 + 2 * windows.length];
  const rejections = reply.length > rest ? parseRejections(reply.slice(rest)) : undefined;
  const bannedUntilMs = ban && endOfBan(ban, rejections, nowMs);
  const decision: RateLimitDecision = {
    allowed: outcome === 1,
    nowMs,
    windows,
    ...(bannedUntilMs !== undefined && { bannedUntilMs }),
    ...(outcome === 2 && { banBegins: true }),
  };
  return { decision, rejections };
}

function parseRejections([
  count = 0,
  windowEndsAtMs = 0,
  bannedUntilMs = 0,
  unbanCount = 0,
]: readonly number[]): Rejections {
  return { count, windowEndsAtMs, bannedUntilMs, unbanCount };
}
