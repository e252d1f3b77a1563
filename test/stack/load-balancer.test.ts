import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient, type ApiResponse, send } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { DatabaseRelay } from '../harness/database/database-relay.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner, createPets } from '../harness/database/factories.js';
import { findHaproxy, type Haproxy, startHaproxy } from '../harness/processes/haproxy.js';
import { type Asked, KeepAliveLoad } from '../harness/http/keep-alive-load.js';
import { type NameServer, startNameServer } from '../harness/processes/name-server.js';
import { RawConnection } from '../harness/http/raw-connection.js';
import {
  type BuiltService,
  type Environment,
  startBuiltService,
} from '../harness/service/service.js';
import { FaultyReplica } from '../harness/stack/faulty-replica.js';

// All replicas have the same port, as containers do: only Linux has 127.0.0.0/8 without being asked for it.
const command = process.platform === 'linux' ? findHaproxy() : undefined;

const HOSTS = ['127.0.0.2', '127.0.0.3'];
const FAULTY_HOST = '127.0.0.4';
const CLIENTS = 12;
/** Two failed checks take a replica out: the delay is several times as long, as in docker-compose.yml. */
const CHECK_INTERVAL_MS = 200;
const SHUTDOWN_DELAY_SECONDS = '2';
const CATEGORY = 7;
const UNTIL_LIMIT_MS = 10_000;

(command ? describe : describe.skip)('replicas behind deploy/haproxy.cfg', () => {
  let database: TestDatabase;
  let relay: DatabaseRelay;
  let names: NameServer;
  let haproxy: Haproxy;
  let key: string;
  let client: ApiClient;
  let pets: string[];
  let port = '0';
  const replicas: BuiltService[] = [];
  /** What the name of the replicas stands for. */
  const hosts = [...HOSTS];

  beforeAll(async () => {
    database = await createDatabase();
    relay = await DatabaseRelay.open(database.url);
    pets = await createPets(database, 30);
    ({ key } = await createOwner(database));
    for (const host of HOSTS) {
      const replica = await startReplica(host);
      port = new URL(replica.url).port;
      replicas.push(replica);
    }
    names = await startNameServer(hosts);
    haproxy = await startLoadBalancer();
    client = new ApiClient(haproxy, key);
  }, 60_000);

  afterAll(async () => {
    await haproxy.stop();
    await names.close();
    await Promise.all(replicas.map((replica) => replica.stop()));
    await relay.cut();
    await database.close();
  });

  function startReplica(host: string): Promise<BuiltService> {
    return startBuiltService({
      DATABASE_URL: relay.url,
      HOST: host,
      PORT: port,
      TRUST_PROXY: '1',
      SHUTDOWN_DELAY_SECONDS,
    });
  }

  function startLoadBalancer(limits: Environment = {}): Promise<Haproxy> {
    return startHaproxy(command ?? '', {
      REPLICAS: `replicas.test:${port}`,
      DNS_SERVER: names.address,
      CHECK_INTERVAL: `${CHECK_INTERVAL_MS}ms`,
      ...limits,
    });
  }

  /** Waits until the load balancer has given the replica a request to add an animal. */
  const served = (replica: BuiltService): Promise<unknown> =>
    replica.waitForLog(({ status }) => status === 201);

  /** Asks until the answer has the status, and returns it. */
  async function responseOf(status: number, ask: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const deadline = Date.now() + UNTIL_LIMIT_MS;
    for (;;) {
      const response = await ask();
      if (response.status === status) return response;
      if (Date.now() > deadline) throw new Error(`still ${response.status}`);
      await sleep(CHECK_INTERVAL_MS / 4);
    }
  }

  /** Repeats an attempt until it succeeds. */
  async function until(attempt: () => Promise<unknown>): Promise<void> {
    const deadline = Date.now() + UNTIL_LIMIT_MS;
    while (!(await attempt())) {
      if (Date.now() > deadline) throw new Error('not in time');
      await sleep(CHECK_INTERVAL_MS / 4);
    }
  }

  test('a rolling restart under keep-alive load fails not one request, and adds each animal once', async () => {
    const mix = (number: number): Asked => {
      if (number % 4 === 0) return { method: 'GET', path: '/v1/pets?limit=5&status=available' };
      if (number % 4 === 1) return { method: 'GET', path: `/v1/pets/${pets[number % 30]}` };
      return { method: 'POST', path: '/v1/pets', body: newPet('Frank') };
    };
    const before = haproxy.output().length;
    const load = new KeepAliveLoad(haproxy.port, key, CLIENTS, mix);
    for (const [index, host] of HOSTS.entries()) {
      const replica = replicas[index]!;
      await served(replica);
      expect(await replica.stop()).toBe(0);
      replicas[index] = await startReplica(host);
      await served(replicas[index]);
    }
    const { responses, errors, created, connections } = await load.stop();

    expect(errors).toEqual({});
    expect(Object.keys(responses).sort()).toEqual(['GET 200', 'POST 201']);
    expect(responses['POST 201']).toBeGreaterThan(200);
    // HAProxy logs what was not answered at the first attempt: it did not even have to try again.
    const requestLines = /^.* callers .*$/gm;
    expect(haproxy.output().slice(before).match(requestLines)).toBeNull();
    // The callers noticed nothing: each still has its first connection.
    expect(connections).toBe(CLIENTS);
    const responseed = created.map((body) => String(JSON.parse(body).id));
    expect((await addedIds()).sort()).toEqual(responseed.sort());
  }, 60_000);

  test('what a replica dropped is asked again when it only reads, and never when it adds', async () => {
    const faulty = await FaultyReplica.start(FAULTY_HOST, Number(port));
    hosts.push(FAULTY_HOST);
    const reads: number[] = [];
    while (faulty.dropped.GET < 3) reads.push((await client.get('/v1/pets')).status);
    expect(new Set(reads)).toEqual(new Set([200]));

    // One in three goes to the faulty replica.
    const adds: number[] = [];
    for (let number = 0; number < 12; number++) {
      adds.push((await client.post('/v1/pets', newPet('Once'))).status);
    }
    await faulty.close();
    expect(faulty.dropped.POST).toBeGreaterThan(0);
    expect(adds.filter((status) => status === 503)).toHaveLength(faulty.dropped.POST);
    expect(new Set(adds)).toEqual(new Set([201, 503]));
    expect(await addedIds('Once')).toHaveLength(adds.filter((status) => status === 201).length);
  });

  test('401s are counted for the address of the caller, whatever address it claims', async () => {
    const remaining: number[] = [];
    for (let number = 0; number < 6; number++) {
      const headers = { 'X-Forwarded-For': `203.0.113.${number}` };
      const response = await send(haproxy, '/v1/pets', { headers });
      expectError(response, 401, 'missing_api_key');
      remaining.push(Number(response.headers['x-ratelimit-remaining']));
    }
    // Each of two replicas may count for itself.
    expect(Math.min(...remaining)).toBeLessThanOrEqual(300 - 3);
  });

  test('431 from the service, with limit fields, for header fields that it refuses', async () => {
    const headers = { 'X-Large': 'x'.repeat(20_000) };
    expectError(await client.send('/v1/pets', { headers }), 431, 'headers_too_large');
  });

  describe('with low limits', () => {
    const LIVE = 'GET /health/live HTTP/1.1\r\nHost: pets\r\n\r\n';
    let limited: Haproxy;

    afterEach(() => limited.stop());

    /** Opens a connection from an address and returns it after the first response. */
    async function connectFrom(localAddress: string): Promise<RawConnection> {
      const connection = await RawConnection.open({ port: limited.port, localAddress }, LIVE);
      expect((await connection.response()).status).toBe(200);
      return connection;
    }

    test('an address with as many connections as it may have gets no further one, other addresses do', async () => {
      limited = await startLoadBalancer({ CONNECTIONS_PER_ADDRESS: '3' });
      const open = [
        await connectFrom('127.0.0.8'),
        await connectFrom('127.0.0.8'),
        await connectFrom('127.0.0.8'),
      ];
      await expect(connectFrom('127.0.0.8')).rejects.toThrow();
      (await connectFrom('127.0.0.9')).close();
      for (const connection of open) {
        expect((await connection.write(LIVE).response()).status).toBe(200);
      }
      open.pop()?.close();
      await until(() =>
        connectFrom('127.0.0.8').then(
          (connection) => open.push(connection),
          () => undefined,
        ),
      );
      for (const connection of open) connection.close();
    });

    test('an address that opens connections too fast gets no further one, other addresses do', async () => {
      limited = await startLoadBalancer({ NEW_CONNECTIONS_PER_ADDRESS: '5' });
      for (let number = 0; number < 5; number++) (await connectFrom('127.0.0.8')).close();
      await expect(connectFrom('127.0.0.8')).rejects.toThrow();
      (await connectFrom('127.0.0.9')).close();
    });

    test('a request for which no replica has room gets 503 in the Error shape, and is served when there is room', async () => {
      limited = await startLoadBalancer({ REQUESTS_PER_REPLICA: '1' });
      const caller = new ApiClient(limited, key);
      await until(async () => {
        await caller.get('/v1/pets', { 'X-Request-Id': 'room' });
        return replicas.every((replica) =>
          replica.logs().some(({ requestId }) => requestId === 'room'),
        );
      });
      const body = newPet('Slow');
      const head = [
        'POST /v1/pets HTTP/1.1',
        'Host: pets',
        `Authorization: Bearer ${key}`,
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
      ];
      const slow = await Promise.all(
        HOSTS.map(() => RawConnection.open(limited, `${head.join('\r\n')}\r\n\r\n`)),
      );
      const response = await responseOf(503, () => caller.get('/v1/pets'));
      expect(response.json).toMatchObject({ code: 'service_unavailable', status: 503 });
      expect(response.headers['retry-after']).toBe('2');
      for (const connection of slow) {
        expect((await connection.write(body).response()).status).toBe(201);
        connection.close();
      }
      expect((await caller.get('/v1/pets')).status).toBe(200);
    });
  });

  test('503 with limit fields while the database is away: replicas are asked although none is ready', async () => {
    await relay.cut();
    await responseOf(503, () => send(haproxy, '/health/ready'));
    // By now none is in the backend of those that are ready.
    await sleep(3 * CHECK_INTERVAL_MS);
    expectError(await client.get('/v1/pets'), 503, 'service_unavailable');
    expectError(await send(haproxy, '/v1/pets'), 401, 'missing_api_key');
    await relay.restore();
    await responseOf(200, () => client.get('/v1/pets'));
  });

  test('503 in the Error shape, with Retry-After, when there is no replica', async () => {
    expect(await Promise.all(replicas.map((replica) => replica.stop()))).toEqual([0, 0]);
    const { status, headers, json } = await client.get('/v1/pets');
    expect([status, json]).toEqual([
      503,
      { code: 'service_unavailable', message: expect.stringMatching(/\.$/), status: 503 },
    ]);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'retry-after': '2',
    });
  });

  function newPet(name: string): string {
    return JSON.stringify({ name, categoryId: CATEGORY });
  }

  async function addedIds(name = 'Frank'): Promise<string[]> {
    const rows = await database.query<{ id: string }>(
      'SELECT id FROM pets WHERE category_id = $1 AND name = $2',
      [CATEGORY, name],
    );
    return rows.map(({ id }) => id);
  }
});
