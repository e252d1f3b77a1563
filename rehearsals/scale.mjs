// @ts-check
// Fills stores of several sizes and reports how each cost grows with animals, owners and replicas.
// Usage: npm run rehearse:scale -- --help
import { chmodSync, rmSync, statSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { Redis } from 'ioredis';
import { wholeNumber } from '../bench/options.mjs';
import { runUntilStopped } from '../bench/processes/child-processes.mjs';
import { residentBytes } from '../bench/processes/process-usage.mjs';
import { startRedis } from '../bench/processes/redis.mjs';
import { fillFirstRelease, issueKeys, migrate } from './scale/data.mjs';
import { Load } from './scale/load.mjs';
import { Report } from './scale/report.mjs';
import { cursorAfter, sendWithEach, Walk } from './scale/requests.mjs';
import { findPrograms, startServer } from './scale/server.mjs';

const LIMIT_PER_MINUTE = 50;
const MAX_DEPTH_RATIO = 1.5;
const MAX_START_SECONDS = 30;
const MAX_MIGRATION_SECONDS = 30;
const MAX_BYTES_PER_OWNER = { replica: 1_500, redis: 300 };
/** With fewer owners, their memory cannot be told from other memory. */
const MIN_OWNERS = 10_000;
/** Migrations, backups and restores are repeated within this time. */
const REPEAT_LIMIT_MS = 180_000;
const WARM_UP_ROUNDS = 4;
const NEW_PET = JSON.stringify({ name: 'Frank', categoryId: 1, status: 'available' });
const LIST = '/v1/pets';
const [DEPTH_RATIO, START, MIGRATION] = [
  'list, deepest / first page: CPU',
  'start of a replica, s',
  'migrations since the first release, s',
];

/** @typedef {import('./scale/load.mjs').Replica} Replica */
/** @typedef {import('./scale/load.mjs').Setup} Setup */

/** @param {() => Promise<unknown>} work @returns {Promise<number>} seconds */
async function timed(work) {
  const startMs = performance.now();
  await work();
  return (performance.now() - startMs) / 1_000;
}

/** Repeats work within the time limit. @param {number} runs @param {() => Promise<void>} work */
async function repeat(runs, work) {
  const endMs = performance.now() + REPEAT_LIMIT_MS;
  for (let run = 0; run < runs && performance.now() < endMs; run++) await work();
}

/** Fills the store and migrates copies of it. @param {Setup} setup */
async function fillAndMigrate({ size, server, database, say, add, report }) {
  say(`${size.owners} owners: fill`);
  const fill = () => fillFirstRelease(server, database, size.animals, size.owners);
  add('fill by SQL, s', await timed(fill));
  const SIZES = `SELECT pg_table_size('pets') AS table, pg_indexes_size('pets') AS indexes`;
  const [bytes] = await server.query(database, SIZES);
  add('table of animals, MB', bytes.table / 1e6);
  add('indexes of animals, MB', bytes.indexes / 1e6);
  say('migrations');
  await repeat(size.runs, async () => {
    await server.query('postgres', `CREATE DATABASE copy TEMPLATE ${database} STRATEGY FILE_COPY`);
    add(MIGRATION, await timed(() => migrate(server, 'copy')));
    await server.query('postgres', 'DROP DATABASE copy');
  });
  report.checkMedian(String(size.animals), MIGRATION, MAX_MIGRATION_SECONDS);
  await migrate(server, database);
}

/** Lists at several depths, and creates. @param {Load} load @param {Setup} setup */
async function measureRequests(load, { size, server, database, say, add, report }) {
  say('CPU of list and create');
  const [{ last }] = await server.query(database, 'SELECT max(id) AS last FROM pets');
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await load.send(LIST);
  for (let run = 0; run < size.runs; run++) {
    /** @type {number[]} */
    const costs = [];
    for (const percent of [0, 10, 50, 100]) {
      const depth = (BigInt(Math.max(0, last - 21)) * BigInt(percent)) / 100n;
      const path = `${LIST}?cursor=${cursorAfter(depth)}`;
      costs.push(await load.addCost(`list at ${percent} %`, () => load.send(path)));
    }
    const [first = NaN, ...deeper] = costs;
    add(DEPTH_RATIO, Math.max(...deeper) / first);
  }
  report.checkMedian(String(size.animals), DEPTH_RATIO, MAX_DEPTH_RATIO);
  for (let run = 0; run < size.runs; run++) {
    await load.addCost('create', () => load.send(LIST, NEW_PET));
  }
}

/** Every owner sends its first request. @param {Load} load @param {Setup} setup @param {string[]} keys @param {Redis} redis */
async function measureOwners(load, { size, say, add, report }, keys, redis) {
  say('CPU of the first request of each owner');
  const [replica] = load.replicas;
  if (!replica) return;
  const memory = async () => {
    const redisBytes = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
    return /** @type {const} */ ([await replica.heapBytes(), redisBytes]);
  };
  const before = await memory();
  await load.addCost('first request of an owner', () => visit(replica, keys));
  const after = await memory();
  const heap = (after[0] - before[0]) / size.owners;
  const inRedis = (after[1] - before[1]) / size.owners;
  if (size.owners < MIN_OWNERS) return;
  add('heap of a replica per owner, bytes', heap);
  add('Redis per owner, bytes', inRedis);
  report.check(heap <= MAX_BYTES_PER_OWNER.replica, `${heap} bytes per owner in a replica`);
  report.check(inRedis <= MAX_BYTES_PER_OWNER.redis, `${inRedis} bytes per owner in Redis`);
}

/** @param {Replica} replica @param {string[]} keys @returns {Promise<number>} requests @throws unless all are accepted */
async function visit({ port }, keys) {
  const counts = await sendWithEach(port, keys);
  if ((counts[200] ?? 0) === keys.length) return keys.length;
  throw new Error(`Instead of ${keys.length} times 200: ${JSON.stringify(counts)}`);
}

/** @param {Load} load @param {Setup} setup @param {import('./scale/data.mjs').Keys} keys */
async function measureTogether(load, setup, keys) {
  const { size, server, database, say, add, report } = setup;
  const { replicas } = load;
  const count = replicas.length;
  say(`${count} replicas`);
  const requests = Array(2 * LIMIT_PER_MINUTE).fill(keys.limited);
  const counts = await Promise.all(replicas.map(({ port }) => sendWithEach(port, requests)));
  const accepted = counts.reduce((sum, { 200: ok = 0 }) => sum + ok, 0);
  // On a busy machine, a request can be counted in Redis and then be rejected with 503 or 429.
  add(`accepted requests of an owner with ${LIMIT_PER_MINUTE} per minute`, accepted);
  report.check(accepted <= LIMIT_PER_MINUTE, `${accepted} requests of an owner accepted`);
  say(`CPU of list with ${count} replicas`);
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await load.send(LIST);
  for (let run = 0; run < size.runs; run++) {
    await load.addCost(`list, ${count} replicas`, () => load.send(LIST));
  }
  await walk(load, setup, keys.caller);
  say(`each owner uses one of ${count} replicas`);
  const share = Math.ceil(size.owners / count);
  const parts = replicas.map((_, part) => keys.ofOwners.slice(part * share, (part + 1) * share));
  await Promise.all(replicas.map((replica, part) => visit(replica, parts[part] ?? [])));
  for (const { pid } of replicas)
    add(`memory of a replica of ${count}, MB`, residentBytes(pid) / 1e6);
  const CONNECTIONS = `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = '${database}'`;
  const [{ n }] = await server.query('postgres', CONNECTIONS);
  add(`connections of ${count} replicas to PostgreSQL`, Number(n));
}

/** `runs` clients walk through a part each, while others add animals. @param {Load} load @param {Setup} setup @param {string} key */
async function walk(load, { size, server, database, say, add, report }, key) {
  say('walk');
  const ALL = 'SELECT count(*)::integer AS count, sum(id) AS sum, max(id) AS last FROM pets';
  const [{ count, sum, last }] = await server.query(database, ALL);
  const ports = load.replicas.map(({ port }) => port);
  /** @param {number} part */
  const bound = (part) => (BigInt(last) * BigInt(part)) / BigInt(size.runs);
  const walks = Array.from({ length: size.runs }, (_, part) => new Walk(ports, key, bound(part)));
  const creates = load.send(LIST, NEW_PET);
  await Promise.all(
    walks.map(async (each, part) => {
      const seconds = await timed(() => each.to(bound(part + 1)));
      add(`walk, one of ${size.runs} clients: animals per second`, each.animals / seconds);
    }),
  );
  await creates;
  const animals = walks.reduce((all, each) => all + each.animals, 0);
  report.check(animals === count, `The walk saw ${animals} of ${count} animals.`);
  const ids = walks.reduce((all, each) => all + each.sum, 0n);
  report.check(ids === BigInt(sum), 'The walk saw other animals than the table has.');
}

/** @param {Setup} setup */
async function backUpAndRestore({ size, server, database, say, add, report }) {
  say('backup and restore');
  const file = join(server.folder, 'backup');
  await repeat(size.runs, async () => {
    add('backup, s', await timed(() => server.run('pg_dump', '-Fc', '-f', file, database)));
    add('backup, MB', statSync(file).size / 1e6);
    await server.query('postgres', 'CREATE DATABASE restored');
    add('restore, s', await timed(() => server.run('pg_restore', '-j2', '-d', 'restored', file)));
    const COUNT = 'SELECT count(*) AS count FROM pets';
    const [before] = await server.query(database, COUNT);
    const [after] = await server.query('restored', COUNT);
    report.check(before.count === after.count, `${after.count} of ${before.count} restored`);
    await server.query('postgres', 'DROP DATABASE restored');
  });
  rmSync(file);
}

/** @param {Setup} setup @param {Redis} redis */
async function rehearse(setup, redis) {
  const { size, server, database, say, add, report } = setup;
  await fillAndMigrate(setup);
  const keys = await issueKeys(server, database, size.owners, LIMIT_PER_MINUTE);
  say('CPU of the start');
  for (let run = 0; run < size.runs; run++) {
    const startMs = performance.now();
    const addStart = () => Promise.resolve(add(START, (performance.now() - startMs) / 1_000));
    await Load.withReplicas(setup, keys.caller, 1, addStart);
  }
  report.checkMedian(String(size.animals), START, MAX_START_SECONDS);
  await redis.flushall();
  await Load.withReplicas(setup, keys.caller, 1, async (load) => {
    await measureRequests(load, setup);
    await measureOwners(load, setup, keys.ofOwners, redis);
  });
  await redis.flushall();
  await Load.withReplicas(setup, keys.caller, size.replicas, (load) =>
    measureTogether(load, setup, keys),
  );
  await backUpAndRestore(setup);
  await server.query('postgres', `DROP DATABASE ${database}`);
}

/** @typedef {{ replicas: number, runs: number, seconds: number }} Counts */
/** @type {Counts & { animals: (string | number)[], owners: (string | number)[], output: string }} */
const { animals, owners, output, ...counts } = new Command('npm run rehearse:scale --')
  .description('Reports how each cost grows with animals, owners and replicas.')
  .option('--animals <N...>', 'animals of each store', ['100000', '1000000', '10000000'])
  .option('--owners <N...>', 'owners of each store', ['100', '10000', '100000'])
  .option('--replicas <N>', 'replicas', wholeNumber, 10)
  .option('--runs <N>', 'measurements of each figure', wholeNumber, 5)
  .option('--seconds <N>', 'length of a measurement under load', wholeNumber, 3)
  .option('--output <FILE>', 'file for all figures, as JSON', 'reports/scale.json')
  .parse()
  .opts();

await runUntilStopped(async (signal) => {
  const folder = await mkdtemp(join(tmpdir(), 'pets-scale-'));
  chmodSync(folder, 0o755);
  const redisServer = await startRedis(folder);
  const programs = findPrograms();
  if (!redisServer || programs === undefined) {
    console.log('Skipped: needs redis-server and postgresql.');
    return;
  }
  const report = new Report();
  const server = await startServer(programs, join(folder, 'postgres'));
  const redis = new Redis(redisServer.url);
  try {
    for (const [index, number] of animals.map(Number).entries()) {
      await rehearse(
        {
          ...{ server, redis: redisServer, folder, signal, report },
          size: { ...counts, animals: number, owners: Number(owners[index]) },
          database: `store_${number}`,
          add: (figure, value) => report.add(String(number), figure, value),
          say: (phase) =>
            console.log(`${new Date().toISOString().slice(11, 19)} ${number} animals: ${phase}`),
        },
        redis,
      );
      await report.write(output);
    }
  } finally {
    redis.disconnect();
    await redisServer.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
  if (report.broken.length > 0) process.exitCode = 1;
});
