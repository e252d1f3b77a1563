import { useDatabase } from '../../../harness/database/database.js';
import { holdAfter, holdTable } from '../../../harness/database/database-lock.js';
import { createKey, createOwner } from '../../../harness/database/factories.js';
import { Relay } from '../../../harness/database/relay.js';
import { ApiClient } from '../../../harness/http/client.js';
import { Cli } from '../../../harness/processes/command.js';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../../harness/rate-limit/limits.js';
import { START_MS, startService, type TestService } from '../../../harness/service/service.js';

const TODAY = '2027-03-01';
const database = useDatabase();

/** Sends requests one after the other, and returns their statuses. */
async function send(service: TestService, key: string, count: number): Promise<number[]> {
  const statuses = [];
  for (let sent = 0; sent < count; sent++)
    statuses.push((await new ApiClient(service, key).get('/v1/nothing')).status);
  return statuses;
}

const save = (service: TestService) => service.runJob('KeyUsage.save');

const usage = (keyId: string): Promise<object[]> =>
  new Cli({ DATABASE_URL: database.url }).json('keys', 'usage', keyId, '--days', '400');

/** A request that is counted, and one that a limit rejects. */
const on = (day: string, requests: number, rejections = 0) => ({ day, requests, rejections });

const untilMidnight = (service: TestService, ms: number) =>
  service.setClock(Math.ceil(START_MS / DAY_MS) * DAY_MS + ms);

test('requests and rejections are counted per API key and UTC day, over replicas, a plan change, a rotation and a shutdown', async () => {
  const owner = await createOwner(database, { limits: { perMinute: 3, perDay: 100 } });
  const other = await createKey(database, owner.id, { firstKeyId: owner.keyId });
  const replicas = [await startService({ database }), await startService({ database })];
  const [first, second] = replicas as [TestService, TestService];
  expect(await send(first, owner.key, 5)).toEqual([404, 404, 404, 429, 429]);
  expect(await send(second, owner.key, 1)).toEqual([404]);
  await Promise.all(replicas.map(save));
  expect(await usage(owner.keyId)).toEqual([on(TODAY, 4, 2)]);

  await database.query('UPDATE owners SET limit_per_minute = 9 WHERE id = $1', [owner.id]);
  for (const service of replicas) await service.advance(5 * SECOND_MS);
  await send(first, owner.key, 1);
  await send(first, other.key, 1);
  await untilMidnight(first, -1);
  await send(first, owner.key, 1);
  await untilMidnight(first, 0);
  await send(first, owner.key, 2);
  for (const service of replicas) await service.close();
  expect(await usage(owner.keyId)).toEqual([on('2027-03-02', 2), on(TODAY, 6, 2)]);
  expect(await usage(other.keyId)).toEqual([on(TODAY, 1)]);
});

test('what no limit counts is not counted: 401, a rejected key, and a clock that is set back loses nothing', async () => {
  const service = await startService({ database });
  const owner = await createOwner(database);
  const revoked = await createKey(database, owner.id, { revokedAtMs: START_MS });
  expect(await send(service, revoked.key, 1)).toEqual([401]);
  await send(service, owner.key, 3);
  await untilMidnight(service, 0);
  await send(service, owner.key, 1);
  await service.setClock(START_MS);
  await send(service, owner.key, 1);
  await service.close();
  expect(await usage(owner.keyId)).toEqual([on('2027-03-02', 1), on(TODAY, 4)]);
  expect(await usage(revoked.keyId)).toEqual([]);
});

test('nothing is lost or counted twice while the database is away, and if the result of a statement is lost', async () => {
  const relay = await Relay.open(database.url);
  const service = await startService({ database: { ...database, url: relay.url } });
  const { key, keyId } = await createOwner(database);
  await send(service, key, 2);
  // The server stores the batch, and its response never arrives.
  const lock = await holdTable(database, 'api_key_usage', 'ACCESS EXCLUSIVE');
  const saving = save(service);
  await lock.waitedFor();
  relay.hold();
  await lock.release();
  while ((await usage(keyId)).length === 0);
  await relay.cut();
  await saving;
  for (let minute = 0; minute < 3; minute++) {
    await service.advance(3 * MINUTE_MS);
    expect(await send(service, key, 1)).toEqual([404]);
    await save(service);
  }
  expect(service.output()).toContain('Storing the usage of API keys has failed');
  await relay.restore();
  await service.advance(MINUTE_MS);
  await send(service, key, 1);
  await service.close();
  expect(service.output()).toMatch(
    /Storing the usage of API keys succeeds again, after \d+ failures/,
  );
  expect(await usage(keyId)).toEqual([on(TODAY, 6)]);
});

test('an attempt to save that ends late does not lower the counts of a later one', async () => {
  const relay = await Relay.open(database.url);
  const env = { DATABASE_STATEMENT_TIMEOUT_SECONDS: '60' };
  const service = await startService({ database: { ...database, url: relay.url }, env });
  const { key, keyId } = await createOwner(database, { limits: { perMinute: 3, perDay: 100 } });
  // The server delays the attempt that stores these counts.
  await database.query(
    `CREATE FUNCTION delay() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END';
     CREATE TRIGGER delay BEFORE INSERT ON api_key_usage FOR EACH ROW
       WHEN (NEW.requests = 3 AND NEW.rejections = 2) EXECUTE FUNCTION delay()`,
  );
  const lock = await holdAfter(database, 'SELECT pg_advisory_xact_lock(1)');
  expect(await send(service, key, 5)).toEqual([404, 404, 404, 429, 429]);
  const early = save(service);
  await lock.waitedFor();
  await relay.cut();
  await early;
  await relay.restore();
  await service.advance(MINUTE_MS);
  expect(await send(service, key, 4)).toEqual([404, 404, 404, 429]);
  await save(service);
  const later = [on(TODAY, 6, 3)];
  expect(await usage(keyId)).toEqual(later);
  await lock.release();
  // Waits for the end of the early attempt.
  await database.query('BEGIN; LOCK TABLE api_key_usage; COMMIT');
  expect(await usage(keyId)).toEqual(later);
  await database.query('DROP FUNCTION delay CASCADE');
  await service.close();
});

test('counting takes no statement', async () => {
  const relay = await Relay.open(database.url);
  const service = await startService({ database: { ...database, url: relay.url } });
  const owner = await createOwner(database);
  await send(service, owner.key, 40);
  await save(service);
  expect(relay.timesSent(Buffer.from('INSERT INTO api_key_usage'))).toBe(1);
  await service.close();
});

test('a replica that cannot store the usage warns and keeps serving', async () => {
  const service = await startService({ database });
  const { key, keyId } = await createOwner(database);
  const rename = (from: string, to: string) =>
    database.query(`ALTER TABLE ${from} RENAME TO ${to}`);
  await rename('api_key_usage', 'hidden');
  await send(service, key, 1);
  await save(service);
  expect(await send(service, key, 1)).toEqual([404]);
  await rename('hidden', 'api_key_usage');
  await save(service);
  expect(await usage(keyId)).toEqual([on(TODAY, 2)]);
  await service.close();
});

test('counts are kept for 400 days', async () => {
  const service = await startService({ database });
  const { keyId } = await createOwner(database);
  await database.query(
    `INSERT INTO api_key_usage SELECT date '2027-03-01' - age, $1, gen_random_uuid(), 1, 0
       FROM unnest('{0, 400, 401, 500}'::int[]) AS age`,
    [keyId],
  );
  await service.runJob('KeyUsage.deleteOld');
  const ages = `SELECT date '2027-03-01' - day AS age FROM api_key_usage WHERE key_id = $1 ORDER BY 1`;
  expect(await database.query(ages, [keyId])).toEqual([{ age: 0 }, { age: 400 }]);
  await service.close();
});

describe('pets keys usage', () => {
  const cli = Cli.on(database);
  const insert = (keyId: string, day: string, requests: number) =>
    database.query(`INSERT INTO api_key_usage VALUES (${day}, $1, gen_random_uuid(), $2, 0)`, [
      keyId,
      requests,
    ]);

  test('--days counts today as one of the days', async () => {
    const { keyId } = await createOwner(database);
    for (const [age, requests] of [10, 20, 30].entries())
      await insert(keyId, `current_date - ${age}`, requests);
    const days = (await cli.json('keys', 'usage', keyId, '--days', '2')) as { requests: number }[];
    expect(days.map(({ requests }) => requests)).toEqual([10, 20]);
  });

  test('--day shows one UTC day of all API keys, the most used first', async () => {
    const first = await createOwner(database);
    const second = await createOwner(database);
    await insert(first.keyId, "'2020-02-29'", 1);
    await insert(second.keyId, "'2020-02-29'", 2);
    await insert(second.keyId, "'2020-03-01'", 4);
    expect(await cli.json('keys', 'usage', '--day', '2020-02-29')).toMatchObject([
      { id: Number(second.keyId), requests: 2 },
      { id: Number(first.keyId), requests: 1 },
    ]);
    expect(await cli.json('keys', 'usage', first.keyId, '--day', '2020-02-29')).toMatchObject([
      { day: '2020-02-29', requests: 1 },
    ]);
    for (const day of ['2020-02-30', 'today'])
      expect(await cli.failure(2, 'keys', 'usage', '--day', day)).toContain('UTC day');
    const both = ['--day', '2020-02-29', '--days', '2'];
    expect(await cli.failure(2, 'keys', 'usage', ...both)).toContain('--days');
  });
});

test('a save, such as that of the shutdown, stores what one in progress could not store', async () => {
  const env = { DATABASE_LOCK_TIMEOUT_SECONDS: '60', DATABASE_STATEMENT_TIMEOUT_SECONDS: '60' };
  const service = await startService({ database, env });
  const { key, keyId } = await createOwner(database);
  await send(service, key, 1);
  const lock = await holdTable(database, 'api_key_usage', 'ACCESS EXCLUSIVE');
  const first = save(service);
  await lock.waitedFor();
  const second = service.runJob('KeyUsage.onApplicationShutdown');
  // Its response follows the start of the job.
  await service.metrics();
  await database.query(
    "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted AND relation = 'api_key_usage'::regclass AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
  );
  await first;
  await lock.release();
  await second;
  expect(await usage(keyId)).toEqual([on(TODAY, 1)]);
  await service.close();
});

test('pets keys usage --csv › has a line for each day, owner and API key', async () => {
  const cli = Cli.on(database);
  await database.empty('api_keys', 'owners', 'api_key_usage');
  await database.query(
    `INSERT INTO owners (name, plan) VALUES ('z Süd, "Ort"', 'free'), ('a', 'free')`,
  );
  await database.query(
    `INSERT INTO api_keys (owner_id, hash, hint, note)
     SELECT owner_id, sha256(note::bytea), 'x', note FROM (VALUES (1, 'web'), (2, 'app'), (2, 'job'))
       AS new (owner_id, note)`,
  );
  await database.query(
    `INSERT INTO api_key_usage VALUES
       ('2020-02-29', 1, gen_random_uuid(), 3, 0), ('2020-02-29', 1, gen_random_uuid(), 4, 1),
       ('2020-02-29', 3, gen_random_uuid(), 0, 2), ('2020-02-29', 2, gen_random_uuid(), 10, 0),
       (current_date, 2, gen_random_uuid(), 1, 0), (current_date - 1, 2, gen_random_uuid(), 5, 0)`,
  );
  const csv = async (...options: string[]) => {
    const { stdout } = await cli.run('keys', 'usage', '--csv', ...options);
    const [head, ...lines] = stdout.split('\r\n');
    expect([head, lines.pop()]).toEqual(['day,owner,keyId,note,requests,rejections', '']);
    return lines;
  };
  const day = ['--day', '2020-02-29'];
  const lines = [
    '2020-02-29,a,2,app,10,0',
    '2020-02-29,a,3,job,0,2',
    '2020-02-29,"z Süd, ""Ort""",1,web,7,1',
  ];
  expect(await csv(...day)).toEqual(lines);
  expect(await csv('3', ...day)).toEqual([lines[1]]);
  expect(await csv('--owner', 'a', ...day)).toEqual(lines.slice(0, 2));
  const days = (await csv('--days', '2')).map((line) => line.replace(/^[\d-]{10},/, ''));
  expect(days).toEqual(['a,2,app,5,0', 'a,2,app,1,0']);
  expect(await csv('--day', '2020-03-01')).toEqual([]);
});
