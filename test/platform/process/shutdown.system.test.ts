import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient, send } from '../../harness/http/client.js';
import { createDatabase, useDatabase } from '../../harness/database/database.js';
import { holdAfter, holdItems } from '../../harness/database/database-lock.js';
import { Relay } from '../../harness/database/relay.js';
import { createOwner } from '../../harness/database/factories.js';
import { RawConnection, requestHead } from '../../harness/http/raw-connection.js';
import { until } from '../../harness/run/until.js';
import {
  type BuiltService,
  type Environment,
  ENDLESS_FEATURES,
  spawnBuiltService,
  startBuiltService,
} from '../../harness/service/service.js';

const PET = '{"name":"Frank","categoryId":1}';

/** Longer than a test may take: what waits for one of these times fails. */
const PATIENT = {
  DATABASE_STATEMENT_TIMEOUT_SECONDS: '60',
  DATABASE_LOCK_TIMEOUT_SECONDS: '60',
  SHUTDOWN_GRACE_SECONDS: '600',
};

const database = useDatabase();
let key: string;

beforeAll(async () => {
  ({ key } = await createOwner(database));
});

interface Started {
  service: BuiltService;
  port: number;
  client: ApiClient;
}

async function start(env: Environment = {}): Promise<Started> {
  const service = await startBuiltService({ DATABASE_URL: database.url, ...env });
  return { service, port: Number(new URL(service.url).port), client: new ApiClient(service, key) };
}

/** Sends the signal. Returns the exit code and the time until the exit. */
function stop(
  service: BuiltService,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<{ code: number | null; ms: number }> {
  const startedAt = performance.now();
  return service.stop(signal).then((code) => ({ code, ms: performance.now() - startedAt }));
}

const stopping = (service: BuiltService): Promise<unknown> =>
  service.waitForLog(({ msg }) => msg === 'stopping');

test('GET /v1/items › 200 after an uncaught exception of another part of the service, which then ends with exit code 1', async () => {
  const defect = `setInterval(()=>{throw(new(Error)('on%20purpose'))},10)`;
  const { service, port } = await start({
    ...PATIENT,
    // Repeats like a timer of a feature.
    NODE_OPTIONS: `--import="data:text/javascript,process.on('SIGUSR2',()=>${defect})"`,
  });
  const lock = await holdItems(database);
  const locked = await RawConnection.open({ port }, requestHead('GET /v1/items', key));
  await lock.waitedFor();
  const stopped = stop(service, 'SIGUSR2');
  await stopping(service);
  await lock.release();
  const response = await locked.response();
  expect([response.status, response.headers['connection']]).toEqual([200, 'close']);
  expect((await stopped).code).toBe(1);
  const fatal = service.logs().filter(({ level }) => level === 60);
  const message = expect.stringContaining('on purpose') as string;
  expect(fatal).toMatchObject([{ msg: 'fatal error', err: { message, stack: message } }]);
  expect(service.logs().at(-1)?.msg).toBe('stopped');
});

test('during SHUTDOWN_DELAY_SECONDS, the service serves requests, with Connection: close, and is not ready at once, even if the database hangs; then SIGINT closes all connections and ends it', async () => {
  const relay = await Relay.open(database.url);
  const { service, port, client } = await start({
    ...PATIENT,
    DATABASE_URL: relay.url,
    SHUTDOWN_DELAY_SECONDS: '600',
  });

  const kept = await RawConnection.open({ port }, requestHead('GET /v1/items', key));
  expect((await kept.response()).headers['connection']).toBe('keep-alive');
  const stopped = stop(service);
  await stopping(service);

  const ready = await send(service, '/health/ready');
  expect([ready.status, ready.json.checks.shutdown]).toEqual([503, 'in progress']);
  expect((await send(service, '/health/live')).status).toBe(200);
  const added = await client.post('/v1/items', PET);
  expect([added.status, added.headers.connection]).toEqual([201, 'close']);
  const last = await kept.write(requestHead('GET /v1/items', key)).response();
  expect([last.status, last.headers['connection']]).toEqual([200, 'close']);
  await kept.serverEnd();

  // A load balancer does not wait for a database.
  const lock = await holdItems(database);
  const locked = await RawConnection.open({ port }, requestHead('GET /v1/items', key));
  await lock.waitedFor();
  relay.hold();
  const { json } = await send(service, '/health/ready');
  expect(json.checks).toEqual({ shutdown: 'in progress' });
  // A further signal ends it.
  service.process.kill('SIGINT');
  await locked.serverEnd();
  expect((await stopped).code).toBe(130);
  const ends = [{ msg: 'request', aborted: true }, { msg: 'stopped' }];
  expect(service.logs().slice(-2)).toMatchObject(ends);
  await lock.release();
  await expect(send(service, '/health/live')).rejects.toThrow(/ECONNREFUSED/);
});

test('a stream of events ends at once, and the usage of API keys is stored even if the hook of a feature never ends', async () => {
  const env = { DATABASE_URL: database.url, ...PATIENT };
  const service = await startBuiltService(env, ENDLESS_FEATURES);
  const { key: own, keyId } = await createOwner(database);
  const port = Number(new URL(service.url).port);
  const stream = await RawConnection.open({ port }, requestHead('GET /v1/stream', own));
  expect((await stream.response()).headers['content-type']).toBe('text/event-stream');
  expect((await stop(service)).code).toBe(0);
  stream.close();
  const sql = 'SELECT requests FROM api_key_usage WHERE key_id = $1';
  expect(await database.query(sql, [keyId])).toEqual([{ requests: '1' }]);
});

describe('requests in progress get a response, and no new connection is accepted', () => {
  test('one whose statement waits for a lock, and one whose body is incomplete', async () => {
    const { service, port, client } = await start(PATIENT);

    const lock = await holdItems(database);
    const locked = await RawConnection.open({ port }, requestHead('GET /v1/items', key));
    await lock.waitedFor();
    const slow = await RawConnection.open({ port }, head(PET.length));
    expect((await slow.response()).status).toBe(100);
    // The service waits neither for an unused connection nor for an idle one.
    const unused = await RawConnection.open({ port });
    const begun = await RawConnection.open({ port }, 'GET /health/live HTTP/1.1\r\nHost: p');
    const kept = await RawConnection.open({ port }, requestHead('GET /health/live', key));
    expect((await kept.response()).status).toBe(200);
    // SIGINT has the same effect as SIGTERM.
    const stopped = stop(service, 'SIGINT');
    await stopping(service);
    await rejected(client);

    await lock.release();
    const response = await locked.response();
    expect([response.status, response.headers['connection']]).toEqual([200, 'close']);
    await locked.serverEnd();
    const added = await slow.write(PET).response();
    expect([added.status, added.headers['connection']]).toEqual([201, 'close']);
    // It waits for the rest of a request whose head has arrived in part.
    const live = await begun.write('ets\r\n\r\n').response();
    expect([live.status, live.headers['connection']]).toEqual([200, 'close']);
    await Promise.all([slow, begun, unused, kept].map((connection) => connection.serverEnd()));
    expect((await stopped).code).toBe(0);
  });

  test('not after SHUTDOWN_GRACE_SECONDS, and a database that hangs does not prevent the exit', async () => {
    const relay = await Relay.open(database.url);
    const { service, port, client } = await start({
      DATABASE_URL: relay.url,
      SHUTDOWN_DELAY_SECONDS: '0.3',
      SHUTDOWN_GRACE_SECONDS: '0.5',
    });
    expect((await client.get('/v1/items')).status).toBe(200);
    const slow = await RawConnection.open({ port }, head(9));
    expect((await slow.response()).status).toBe(100);
    relay.hold();
    const { code, ms } = await stop(service);
    expect(code).toBe(0);
    expect(ms).toBeGreaterThan(800);
    const ends = service.logs().slice(-2);
    const late = { msg: 'not everything was closed in time', keysWithoutUsage: 1 };
    expect(ends).toMatchObject([late, { msg: 'stopped' }]);
    slow.close();
  });

  test('or one log line each, however late the system closes their connections', async () => {
    const late = `import net from 'node:net';
      const { emit } = net.Socket.prototype;
      net.Socket.prototype.emit = function (name, ...values) {
        const run = () => emit.call(this, name, ...values);
        return name === 'close' && this.server ? void setTimeout(run, 300) : run();
      };`;
    const { service, port } = await start({
      SHUTDOWN_GRACE_SECONDS: '0.1',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(late)}`,
    });
    const slow = await RawConnection.open({ port }, head(9));
    expect((await slow.response()).status).toBe(100);
    expect((await stop(service)).code).toBe(0);
    const ends = [{ msg: 'request', status: 499, aborted: true }, { msg: 'stopped' }];
    expect(service.logs().slice(-2)).toMatchObject(ends);
    slow.close();
  });

  const head = (length: number): string =>
    requestHead(
      'POST /v1/items',
      key,
      'Content-Type: application/json',
      `Content-Length: ${length}`,
      'Expect: 100-continue',
    );

  /** Resolves when the service accepts no connections. */
  async function rejected(client: ApiClient): Promise<void> {
    for (;;) {
      try {
        await client.get('/health/live');
      } catch {
        return;
      }
      await sleep(20);
    }
  }
});

describe('a further SIGINT or SIGTERM closes all connections and ends the service', () => {
  test('SIGHUP, then SIGTERM, without a delay', async () => {
    const { service, port } = await start(PATIENT);
    const lock = await holdItems(database);
    const locked = await RawConnection.open({ port }, requestHead('GET /v1/items', key));
    await lock.waitedFor();
    const stopped = stop(service, 'SIGHUP');
    await stopping(service);
    // Closing a terminal may send it twice.
    service.process.kill('SIGHUP');
    service.process.kill('SIGTERM');
    await locked.serverEnd();
    expect((await stopped).code).toBe(143);
    const ends = [{ msg: 'request', aborted: true }, { msg: 'stopped' }];
    expect(service.logs().slice(-2)).toMatchObject(ends);
    await lock.release();
  });

  test('also during a migration', async () => {
    const empty = await createDatabase({ template: 'template0' });
    const lock = await holdAfter(empty, 'CREATE TABLE owners (); DROP TABLE owners');
    const service = spawnBuiltService({ DATABASE_URL: empty.url });
    await lock.waitedFor();
    const stopped = service.stop('SIGINT');
    service.process.kill('SIGTERM');
    expect([130, 143]).toContain(await stopped);
    expect(service.logs().at(-1)?.msg).toBe('stopped');
    await lock.release();
    expect(await empty.query(`SELECT FROM pg_tables WHERE tablename = 'owners'`)).toEqual([]);
    await empty.close();
  });
});

const NOHUP = [
  ['from a shell script', ['bash', '-c', 'nohup "$0" "$@"']],
  // As nohup replaces the input that is a terminal.
  ['on a terminal', ['sh', '-c', 'exec "$0" "$@" 0>/dev/null']],
] as const;

(process.platform === 'linux' ? test : test.skip).each(NOHUP)(
  'SIGHUP has no effect after nohup %s (Linux only)',
  async (_title, command) => {
    const env = { DATABASE_URL: database.url };
    const service = await startBuiltService(env, undefined, [...command, process.execPath]);
    service.process.kill('SIGHUP');
    expect((await send(service, '/health/live')).status).toBe(200);
    expect(await service.stop('SIGTERM')).toBe(0);
    expect((await stopping(service)) as object).toMatchObject({ signal: 'SIGTERM' });
  },
);

test('a signal during a migration stops the service after the migrations', async () => {
  const empty = await createDatabase({ template: 'template0' });
  // The first migration creates a table of this name.
  const lock = await holdAfter(empty, 'CREATE TABLE owners (); DROP TABLE owners');
  const service = spawnBuiltService({ DATABASE_URL: empty.url });
  await lock.waitedFor();
  const stopped = service.stop();
  await lock.release();
  expect(await stopped).toBe(143);
  expect(service.logs().at(-1)).toMatchObject({ msg: 'stopped', signal: 'SIGTERM' });
  expect(service.logs()).toContainEqual(expect.objectContaining({ msg: 'schema migrated' }));
  await empty.close();
});

test('a signal while another process migrates stops the service, which then migrates nothing', async () => {
  const empty = await createDatabase({ template: 'template0' });
  await empty.query('SELECT pg_advisory_lock(7236114901)');
  const service = spawnBuiltService({ DATABASE_URL: empty.url });
  const waiting = `SELECT FROM pg_stat_activity
                   WHERE datname = current_database() AND query LIKE 'SELECT WHERE pg_try_advisory_lock%'`;
  while ((await empty.query(waiting)).length === 0) await sleep(20);
  expect(await service.stop()).toBe(143);
  expect(service.logs().at(-1)).toMatchObject({ msg: 'stopped', signal: 'SIGTERM' });
  expect(await empty.query(`SELECT FROM pg_tables WHERE tablename = 'owners'`)).toEqual([]);
  await empty.close();
});

describe('a signal during the start stops the service although the database does not respond', () => {
  const never = { DATABASE_POOL_WAIT_SECONDS: '60', DATABASE_STATEMENT_TIMEOUT_SECONDS: '60' };

  test.each([
    ['to a connection', {}, 'application_name'],
    ['to a connection without migrations', { MIGRATE_ON_START: 'false' }, 'application_name'],
    ['to the query for executed migrations', {}, 'information_schema'],
  ])('%s', async (_title, env, bytes) => {
    const relay = await Relay.open(database.url);
    relay.holdAfter(bytes);
    const service = spawnBuiltService({ DATABASE_URL: relay.url, ...never, ...env });
    await until(() => relay.timesSent(Buffer.from(bytes)) > 0);
    const startedAt = performance.now();
    expect(await service.stop('SIGTERM')).toBe(143);
    // The limits are twice as high.
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    expect(service.logs().at(-1)).toMatchObject({ msg: 'stopped', signal: 'SIGTERM' });
    await relay.cut();
  });
});
