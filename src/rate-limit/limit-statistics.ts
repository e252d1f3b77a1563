/** Why a request was allowed or rejected. */
export type LimitOutcome = 'allowed' | 'minute' | 'day' | 'banned';

/** Counts decisions and bans for the metrics, by plan ('anonymous' for addresses). */
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

  /** Returns the number of bans that have started, by plan. */
  bans(): ReadonlyMap<string, number> {
    return this.banCounts;
  }

  /** Returns the number of decisions, by plan and outcome. */
  entries(): [plan: string, outcome: string, count: number][] {
    return [...this.counts].map(([key, count]) => {
      const [plan = '', outcome = ''] = key.split(' ');
      return [plan, outcome, count];
    });
  }
}
