import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock, DAY_MS, MINUTE_MS } from '../../config/clock.js';
import type { KeyState } from '../../http/request/caller.js';
import { IdlePause, RepeatedWork } from '../../database/repeated-work.js';
import { type KeyUse, KeyUsageRepository, type UsageCount } from './key-usage.repository.js';

/** Counts and last uses are also saved at the shutdown. `kill -9` loses those since the last save. */
const SAVE_INTERVAL_MS = 10_000;
/** Rows that one statement stores or deletes. It takes a small part of its time limit. */
const BATCH_SIZE = 5_000;
const KEPT_DAYS = 400;

/**
 * Counts the requests of each API key per UTC day, in about 200 bytes per key and day. It stores totals
 * in rows of this process, not differences. So it can repeat a statement whose result was lost. Also
 * stores when API keys were last used, to the minute.
 */
@Injectable()
export class KeyUsage implements OnApplicationShutdown {
  private readonly savingCounts: RepeatedWork;
  private readonly savingUses: RepeatedWork;
  private readonly deletingOld: RepeatedWork;
  private readonly pause: IdlePause;
  /** The counts of today. */
  private current = { day: 0, counter: '', counts: new Map<bigint, UsageCount>() };
  /** Counts that have changed since they were stored. */
  private readonly changed = new Set<UsageCount>();
  /** Times of use by key id, in milliseconds since the epoch, until they are stored. */
  private readonly uses = new Map<bigint, number>();
  /** The number of counts that a statement in progress stores. */
  private storing = 0;
  private lastRun: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly repository: KeyUsageRepository,
    private readonly clock: Clock,
  ) {
    const logger = new Logger(KeyUsage.name);
    this.savingCounts = new RepeatedWork(logger, clock, 'Storing the usage of API keys');
    this.savingUses = new RepeatedWork(logger, clock, 'Storing the last use of API keys');
    this.deletingOld = new RepeatedWork(logger, clock, 'Deleting old usage');
    this.pause = new IdlePause(clock, MINUTE_MS);
  }

  /** The number of API keys whose counts have changed since they were stored. */
  get unsaved(): number {
    return this.changed.size + this.storing;
  }

  /** Notes that an API key was used now. */
  noteUse({ keyId }: KeyState): void {
    const nowMs = this.clock.now();
    this.uses.set(keyId, nowMs - (nowMs % MINUTE_MS));
  }

  /** Counts a request of an API key, or its rejection by a limit. */
  count({ keyId }: KeyState, isRejected: boolean): void {
    const day = this.today();
    // An operator can set the clock back. The counter of the earlier part of that day is no longer here.
    if (day !== this.current.day) this.current = { day, counter: randomUUID(), counts: new Map() };
    const { counter, counts } = this.current;
    let count = counts.get(keyId);
    if (!count) counts.set(keyId, (count = { day, keyId, counter, requests: 0, rejections: 0 }));
    if (isRejected) count.rejections++;
    else count.requests++;
    this.changed.add(count);
  }

  /** Stores counts and last uses when the previous run has ended. What fails is stored by the next one. */
  @Interval(SAVE_INTERVAL_MS)
  save(): Promise<unknown> {
    const run = () =>
      Promise.all([
        inBatches(this.savingCounts, this.changed, (batch) => this.saveCounts(batch)),
        inBatches(this.savingUses, this.uses, (batch) => this.saveUses(batch)),
      ]);
    return (this.lastRun = this.lastRun.then(run));
  }

  /** The last requests have ended, and the connections to the database are still open. */
  async onApplicationShutdown(): Promise<void> {
    await this.save();
  }

  /** Runs on every replica. SKIP LOCKED divides the rows. */
  async deleteOld(): Promise<void> {
    const remove = () => this.repository.deleteBefore(this.today() - KEPT_DAYS, BATCH_SIZE);
    this.pause.begin((await this.deletingOld.run(remove)) === false);
  }

  @Interval(MINUTE_MS)
  async deleteOldIfDue(): Promise<void> {
    if (this.pause.isOver) await this.deleteOld();
  }

  private async saveCounts(batch: readonly UsageCount[]): Promise<void> {
    for (const count of batch) this.changed.delete(count);
    this.storing = batch.length;
    const saved = this.repository.save(batch).catch((error: unknown) => {
      for (const count of batch) this.changed.add(count);
      throw error;
    });
    await saved.finally(() => (this.storing = 0));
  }

  private async saveUses(batch: readonly KeyUse[]): Promise<void> {
    const locked = await this.repository.saveLastUsed(batch);
    // A later use, noted in the meantime, stays for the next run, as that of a locked row.
    for (const [id, atMs] of batch)
      if (this.uses.get(id) === atMs && !locked.has(id)) this.uses.delete(id);
  }

  private today(): number {
    return Math.floor(this.clock.now() / DAY_MS);
  }
}

/** Stores items until a batch fails. */
async function inBatches<Item>(
  work: RepeatedWork,
  items: Iterable<Item>,
  store: (batch: Item[]) => Promise<void>,
): Promise<void> {
  const all = [...items];
  if (all.length === 0) return;
  await work.run(async () => {
    for (let start = 0; start < all.length; start += BATCH_SIZE)
      await store(all.slice(start, start + BATCH_SIZE));
  });
}
