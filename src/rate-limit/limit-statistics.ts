/** Why a request passed or was refused. */
export type LimitOutcome = 'allowed' | 'minute' | 'day' | 'banned';

/** Counts decisions by plan ('anonymous' for addresses) and outcome, and bans, for the metrics. */
export class LimitStatistics {
  private readonly counts = new Map<string, number>();
  private readonly banCounts = new Map<string, number>();

  count(plan: string, outcome: LimitOutcome): void {
    const key = `${plan} ${outcome}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  countBan(plan: string): void {
    this.banCounts.set(plan, (this.banCounts.get(plan) ?? 0) + 1);
  }

  /** Returns by plan how many bans began. */
  bans(): ReadonlyMap<string, number> {
    return this.banCounts;
  }

  /** Returns plan, outcome and how many decisions there were so far. */
  entries(): [plan: string, outcome: string, count: number][] {
    return [...this.counts].map(([key, count]) => {
      const [plan = '', outcome = ''] = key.split(' ');
      return [plan, outcome, count];
    });
  }
}
