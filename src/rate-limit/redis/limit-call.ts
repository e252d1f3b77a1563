import type { Refusals } from '../bans.js';
import type { Budget, LookupLimit, Quota, Reading } from '../limit-storage.js';

/** What to do with a budget, see LIMIT_SCRIPTS. */
export type LimitMode =
  | { readonly name: 'take' | 'peek' }
  | { readonly name: 'reserve'; readonly lookupLimit: LookupLimit }
  /** `endsAtMs`: the end of the window in which the request was counted. */
  | { readonly name: 'giveBack'; readonly endsAtMs: number };

/** Returns the arguments of the script. */
export function scriptArguments({ quotas, ban }: Budget, mode: LimitMode): (string | number)[] {
  const windows: (Omit<Quota, 'name'> & { name: string })[] = [...quotas];
  if (mode.name === 'reserve') {
    windows.push({ name: 'lookups', limit: mode.lookupLimit.perSecond, lengthMs: 1_000 });
  }
  const call: (string | number)[] = [mode.name, windows.length];
  if (mode.name === 'giveBack') call.push(mode.endsAtMs, 0, 0);
  else if (ban) call.push(ban.unbanCount, ban.afterRejections, ban.lengthMs);
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
  /** Whether a lookup may take place. */
  mayLookUp: boolean;
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
  const rest = 2 + 2 * (windows.length + (mode.name === 'reserve' ? 1 : 0));
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
  return { reading, mayLookUp: outcome === 1 || outcome === 3, refusals };
}
