// @ts-check
// Reports how the cost of a page, of an owner and of replicas grows with the store. Usage: npm run rehearse:scale -- --help
import { Redis } from 'ioredis';
import { LoadGenerator } from '../bench/load/load.mjs';
import { withEnvironment } from '../bench/processes/environment.mjs';
import { cpuSeconds, residentBytes } from '../bench/processes/process-usage.mjs';
import { wholeNumber } from '../bench/options.mjs';
import { createOwners, listOnce, rehearse, withReplicas } from './harness.mjs';

/** @type {typeof import('../src/platform/http/paging/page-cursor.js')} */
const { PageCursor, PageQuery } = await import(
  new URL('../dist/platform/http/paging/page-cursor.js', import.meta.url).href
);

const CONNECTIONS = 32;
const MAX_DEPTH_RATIO = 1.5;
const MAX_REDIS_BYTES_PER_OWNER = 300;
/** With fewer owners, their memory cannot be told from other memory. */
const MIN_OWNERS = 10_000;
const BATCH = 50;

const description = 'Reports how each cost grows with animals, owners and replicas.';
await rehearse(
  'scale',
  description,
  (outcome, signal, { animals, owners, replicas: count, seconds }) =>
    withEnvironment({ animals }, signal, async (environment) => {
      const { redisUrl, store, pids, folder } = environment;
      if (redisUrl === undefined) throw new Error('Install redis-server.');
      const { database, keys } = store;
      const redis = new Redis(redisUrl);
      const generator = new LoadGenerator(folder, signal);
      const headers = { Authorization: `Bearer ${keys.caller}` };
      const startMs = performance.now();
      await withReplicas(count, environment, { REDIS_URL: redisUrl }, signal, async (replicas) => {
        outcome.add('start of a replica, s', (performance.now() - startMs) / 1_000 / count);
        const [replica] = replicas;
        if (!replica) return;
        const cost = async (/** @type {string} */ name, /** @type {string} */ query) => {
          const request = { url: `http://127.0.0.1:${replica.port}/v1/pets${query}`, headers };
          const limits = { connections: CONNECTIONS, seconds };
          const usage = () => cpuSeconds(replica.pid) + cpuSeconds(pids.postgres);
          await generator.run({ ...request, status: 200 }, limits);
          const before = usage();
          const { requests } = await generator.run({ ...request, status: 200 }, limits);
          const us = ((usage() - before) * 1e6) / requests;
          outcome.add(`${name}: CPU of the replica and PostgreSQL, µs`, us);
          return us;
        };
        const { rows } = await database.query('SELECT max(id) AS last FROM pets');
        const depth = BigInt(rows[0].last) - 21n;
        const cursor = new PageCursor('bigint').cursorAfter([depth], new PageQuery());
        const first = await cost('first page', '');
        const last = await cost('last page', `?cursor=${cursor}`);
        const isFlat = last / first <= MAX_DEPTH_RATIO;
        outcome.check(isFlat, `the last page costs ${last / first} times the first one`);

        const used = async () =>
          Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
        const before = await used();
        const all = await createOwners(database, owners);
        for (let index = 0; index < all.length; index += BATCH) {
          const batch = all.slice(index, index + BATCH);
          await Promise.all(batch.map((owner) => listOnce(replica.port, owner)));
        }
        const bytes = ((await used()) - before) / owners;
        outcome.add('Redis per owner, bytes', bytes);
        outcome.add('memory of a replica, MB', residentBytes(replica.pid) / 1e6);
        const isSmall = owners < MIN_OWNERS || bytes <= MAX_REDIS_BYTES_PER_OWNER;
        outcome.check(isSmall, `${bytes} bytes per owner in Redis`);
      }).finally(() => redis.disconnect());
    }),
  (command) =>
    command
      .option('--animals <N>', 'animals of the store', wholeNumber, 1_000_000)
      .option('--owners <N>', 'owners of the store', wholeNumber, 10_000)
      .option('--replicas <N>', 'replicas', wholeNumber, 4)
      .option('--seconds <N>', 'length of a measurement under load', wholeNumber, 3),
);
