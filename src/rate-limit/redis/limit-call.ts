import { endOfBan } from '../in-process-storage.js';
import type { Budget, RateLimitDecision } from '../limit-storage.js';
import type { RedisConnection } from './redis-connection.js';

/** Whether the script counts the request, see limit-script.ts. */
export type LimitMode = 'consume' | 'peek';

/**
 * Decides on a request for a budget. Also returns the rejections of its lineage, if there are any.
 *
 * @throws RedisFailure
 */
export async function decideInRedis(
  connection: RedisConnection,
  prefix: string,
  { kind, id, quotas, ban }: Budget,
  mode: LimitMode,
) {
  const { unbanCount, afterRejections, lengthMs } = ban ?? NO_BAN;
  const values = [
    ...[mode, quotas.length, unbanCount, afterRejections, lengthMs],
    ...quotas.map(({ limit }) => limit),
    ...quotas.map((quota) => quota.lengthMs),
    ...quotas.map(({ name, route }) => (route === undefined ? name : `route:${route}`)),
    ...(ban ? [`ban:${ban.lineageId}`] : []),
  ];
  const reply = await connection.decide(kind, `${prefix}{${kind}:${id}}`, values);
  const [outcome, nowMs = 0, ...numbers] = reply;
  const windows = quotas.map((quota, index) => {
    const [used = 0, endsAtMs = 0] = numbers.slice(2 * index);
    return { quota, used, endsAtMs };
  });
  const rejections = parseRejections(numbers.slice(2 * quotas.length));
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

const NO_BAN = { unbanCount: 0, afterRejections: 0, lengthMs: 0 };

function parseRejections([count, windowEndsAtMs = 0, bannedUntilMs = 0, unbanCount = 0]: number[]) {
  return count === undefined ? undefined : { count, windowEndsAtMs, bannedUntilMs, unbanCount };
}
