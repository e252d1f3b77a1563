import type { Refusals } from '../bans.js';
import type { Budget, Quota, Reading } from '../limit-storage.js';

/** What to do with a budget, see LIMIT_SCRIPTS. */
export type LimitMode = 'take' | 'peek' | 'lookUp';

const LOOK_UPS = { name: 'lookups', limit: 10, lengthMs: 1_000 };

/** Returns the arguments of the script. */
export function scriptArguments({ quotas, ban }: Budget, mode: LimitMode): (string | number)[] {
  const windows: readonly (Omit<Quota, 'name'> & { name: string })[] =
    mode === 'lookUp' ? [...quotas, LOOK_UPS] : quotas;
  const call: (string | number)[] = [mode, windows.length];
  if (ban) call.push(ban.unbanCount, ban.afterRefusals, ban.lengthMs);
  else call.push(0, 0, 0);
  for (const { limit } of windows) call.push(limit);
  for (const { lengthMs } of windows) call.push(lengthMs);
  for (const { name } of windows) call.push(name);
  if (ban) call.push(`ban:${ban.keyLine}`);
  return call;
}

/** What the script answered: the decision, and the refusals of the budget's line of keys. */
export interface LimitReply {
  reading: Reading;
  refusals: Refusals | undefined;
}

/** @param reply the numbers that the script returned for this budget */
export function parseReply({ quotas, ban }: Budget, mode: LimitMode, reply: number[]): LimitReply {
  const at = (index: number): number => reply[index] ?? 0;
  const windows = quotas.map((quota, window) => ({
    quota,
    used: at(2 * window + 2),
    endsAtMs: at(2 * window + 3),
  }));
  const [outcome, nowMs] = [at(0), at(1)];
  const rest = 2 + 2 * (windows.length + (mode === 'lookUp' ? 1 : 0));
  const refusals =
    reply.length > rest
      ? {
          count: at(rest),
          windowEndsAtMs: at(rest + 1),
          bannedUntilMs: at(rest + 2),
          unbanCount: at(rest + 3),
        }
      : undefined;
  const isBanned =
    ban && refusals && refusals.unbanCount >= ban.unbanCount && refusals.bannedUntilMs > nowMs;
  const reading: Reading = {
    allowed: outcome === 1,
    nowMs,
    windows,
    ...(isBanned && { bannedUntilMs: refusals.bannedUntilMs }),
    ...(outcome === 2 && { banBegins: true }),
  };
  return { reading, refusals };
}
