import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Client } from 'pg';
import { ApiClient, send } from '../../harness/http/client.js';
import { useDatabase } from '../../harness/database/database.js';
import { Relay } from '../../harness/database/relay.js';
import { expectError } from '../../harness/http/error-response.js';
import { createKey, createOwner } from '../../harness/database/factories.js';
import { startService, type TestService } from '../../harness/service/service.js';

const database = useDatabase();
let role: string;
let relay: Relay;
let service: TestService;
let known: ApiClient;
/** Connected to another database, so that the service's own can be closed and renamed. */
let administrator: Client;
/** Listens, and does not speak PostgreSQL's protocol. */
let foreign: Server;

beforeAll(async () => {
  role = `${database.name}_role`;
  const url = new URL(database.url);
  url.pathname = '/postgres';
  administrator = new Client({ connectionString: url.href });
  await administrator.connect();
  await administrator.query(`CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD 'right'`);
  foreign = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('X\0\0\0\x04'));
  }).listen(0, '127.0.0.1');
  await once(foreign, 'listening');

  const asRole = new URL(database.url);
  asRole.username = role;
  asRole.password = 'right';
  relay = await Relay.open(asRole.href);
  service = await startService({ database, env: { DATABASE_URL: relay.url } });
  known = new ApiClient(service, (await createOwner(database)).key);
});
afterAll(async () => {
  foreign.close();
  await administrator.query(`DROP ROLE ${role}`);
  await administrator.end();
});

const foreignUrl = (): string =>
  `postgres://pets@127.0.0.1:${(foreign.address() as AddressInfo).port}/pets`;

/** Breaks the connections of the service. New ones lead to another server. */
async function leadTo(url: string): Promise<void> {
  relay.redirect(url);
  await relay.cut();
  await relay.restore();
}

/** Ends all connections to the service's database, the test's own among them. */
const disconnectAll = (name: string): Promise<unknown> =>
  administrator.query(
    'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1 AND usename = $2',
    [name, role],
  );

interface Fault {
  begin: () => Promise<unknown>;
  end: () => Promise<unknown>;
}

describe.each<[title: string, reason: RegExp, fault: () => Fault]>([
  [
    'accepts no connections (55000)',
    /not currently accepting connections/,
    () => ({
      begin: () => administrator.query(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS false`),
      end: () => administrator.query(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS true`),
    }),
  ],
  [
    'does not admit the role (28000)',
    /not permitted to log in/,
    () => ({
      begin: () => administrator.query(`ALTER ROLE ${role} NOLOGIN`),
      end: () => administrator.query(`ALTER ROLE ${role} LOGIN`),
    }),
  ],
  [
    'is another program, which does not speak the protocol',
    /received invalid response/,
    () => ({
      begin: () => leadTo(foreignUrl()),
      end: () => leadTo(database.url),
    }),
  ],
])('when the server %s', (_title, reason, fault) => {
  beforeEach(async () => {
    // From now on its key is cached: what fails is its operation, not the lookup of the key.
    expect((await known.get('/v1/pets')).status).toBe(200);
    await fault().begin();
    await disconnectAll(database.name);
  });
  afterEach(() => fault().end());

  test('every operation is 503 with the cause in the log, and then serves again without help', async () => {
    const { key } = await createKey(database, (await createOwner(database)).id);
    const responses = await Promise.all([
      known.get('/v1/pets'),
      known.get('/v1/pets/1'),
      known.post('/v1/pets', { name: 'Frank', categoryId: 1 }),
      known.post('/v1/pets', { name: 'Frank', categoryId: 1 }, { 'Idempotency-Key': 'a' }),
      new ApiClient(service, key).get('/v1/pets'),
    ]);
    for (const response of responses) {
      expectError(response, 503, 'service_unavailable');
      expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
      const line = await service.waitForLog(
        ({ requestId, code }) =>
          requestId === response.headers['x-request-id'] && code === 'service_unavailable',
      );
      expect(line['cause']).toMatch(reason);
    }
    expect((await send(service, '/health/ready')).status).toBe(503);
    expect((await send(service, '/health/live')).status).toBe(200);

    await fault().end();
    expect((await known.get('/v1/pets')).status).toBe(200);
  });
});
