import { KeyUsage } from '../../../src/platform/access/usage/key-usage.js';
import { Clock } from '../../../src/platform/config/clock.js';
import { BoundedPool } from '../../../src/platform/database/pools/bounded-pool.js';
import { Idempotency } from '../../../src/platform/idempotency/idempotency.js';
import { useDatabase } from '../../harness/database/database.js';
import { Relay } from '../../harness/database/relay.js';
import { StoreModule } from '../../harness/features/store/store.module.js';
import { until } from '../../harness/run/until.js';
import { startTestingApp } from '../../harness/service/testing-app.js';

const HOUR_S = 3_600;

const database = useDatabase();

test('after two hours without requests, a replica opens two connections per hour, for two statements each', async () => {
  let nowMs = 0;
  const clock: Clock = { now: () => Date.now() + nowMs, monotonicMs: () => nowMs };
  const relay = await Relay.open(database.url);
  const { app } = await startTestingApp({
    database: { ...database, url: relay.url },
    features: [StoreModule],
    override: (module) => module.overrideProvider(Clock).useValue(clock),
  });
  const pool = app.get(BoundedPool, { strict: false });
  // In these hours, connections are idle for longer than their limit.
  pool.options.idleTimeoutMillis = 1;
  const used = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()));
  /** Connections of the start and of the probe. */
  const others = relay.open - used.length;
  for (const connection of used) connection.release();
  const idempotency = app.get(Idempotency, { strict: false });
  const usage = app.get(KeyUsage, { strict: false });

  /** Calls what the service calls on a schedule. */
  async function idleFor(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 2) {
      nowMs += 2_000;
      await idempotency.deleteExpiredIfDue();
      if (second % 10 === 0) await usage.save();
      if (second % 60 === 0) await usage.deleteOldIfDue();
      if (relay.open > others) await until(() => relay.open <= others);
    }
  }
  const sent = () => [
    relay.accepted,
    ...['SELECT key, own', 'DELETE FROM idempotency_keys', 'DELETE FROM api_key_usage'].map(
      (statement) => relay.timesSent(Buffer.from(statement)),
    ),
  ];

  await idleFor(2 * HOUR_S);
  const before = sent();
  await idleFor(HOUR_S);
  expect(sent().map((count, index) => count - before[index]!)).toEqual([2, 2, 1, 1]);
});
