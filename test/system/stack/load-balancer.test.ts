import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient, type ApiResponse, send } from '../../harness/http/client.js';
import { useDatabase } from '../../harness/database/database.js';
import { Relay } from '../../harness/database/relay.js';
import { expectError } from '../../harness/http/error-response.js';
import { createOwner, createItems } from '../../harness/database/factories.js';
import { findHaproxy, type Haproxy, startHaproxy } from '../../harness/processes/haproxy.js';
import { type Asked, KeepAliveLoad } from '../../harness/http/keep-alive-load.js';
import { type NameServer, startNameServer } from '../../harness/processes/name-server.js';
import {
  type BuiltService,
  type Environment,
  startBuiltService,
} from '../../harness/service/service.js';
import { askUntil } from '../../harness/rate-limit/limits.js';

// All replicas have the same port, as containers do. Only Linux routes all of 127.0.0.0/8 by default.
const command = process.platform === 'linux' ? findHaproxy() : undefined;

const HOSTS = ['127.0.0.2', '127.0.0.3'];
const CLIENTS = 12;
/** Two failed checks remove a replica from rotation. The shutdown delay is several times as long, as in docker-compose.yml. */
const CHECK_INTERVAL_MS = 200;
const SHUTDOWN_DELAY_SECONDS = '2';
const CATEGORY = 7;
const UNTIL_LIMIT_MS = 10_000;

(command ? describe : describe.skip)('replicas behind deploy/haproxy.cfg', () => {
  const database = useDatabase();
  let relay: Relay;
  let names: NameServer;
  let haproxy: Haproxy;
  let key: string;
  let client: ApiClient;
  let pets: string[];
  let port = '0';
  const replicas: BuiltService[] = [];
  /** The addresses of the replicas' DNS name. */
  const hosts = [...HOSTS];

  beforeAll(async () => {
    relay = await Relay.open(database.url);
    pets = await createItems(database, 30);
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

  /** Waits until the replica has added an item. */
  const added = (replica: BuiltService): Promise<unknown> =>
    replica.waitForLog(({ status }) => status === 201);

  /** Sends a request until the response has the status, and returns this response. */
  const responseOf = async (status: number, request: () => Promise<ApiResponse>) =>
    (await askUntil(request, (response) => response.status === status, UNTIL_LIMIT_MS)).response;

  test('a rolling restart under keep-alive load fails no request and adds each item once', async () => {
    const mix = (number: number): Asked => {
      if (number % 4 === 0) return { method: 'GET', path: '/v1/items?limit=5&status=available' };
      if (number % 4 === 1) return { method: 'GET', path: `/v1/items/${pets[number % 30]}` };
      return { method: 'POST', path: '/v1/items', body: newPet('Frank') };
    };
    const before = haproxy.output().length;
    const load = new KeepAliveLoad(haproxy.port, key, CLIENTS, mix);
    for (const [index, host] of HOSTS.entries()) {
      const replica = replicas[index]!;
      await added(replica);
      expect(await replica.stop('SIGTERM')).toBe(0);
      replicas[index] = await startReplica(host);
      await added(replicas[index]);
    }
    const { responses, errors, created, connections } = await load.stop();

    expect(errors).toEqual({});
    expect(Object.keys(responses).sort()).toEqual(['GET 200', 'POST 201']);
    expect(responses['POST 201']).toBeGreaterThan(200);
    // HAProxy logs requests that fail at the first attempt. There were none.
    const requestLines = /^.* callers .*$/gm;
    expect(haproxy.output().slice(before).match(requestLines)).toBeNull();
    // Each client still has its first connection.
    expect(connections).toBe(CLIENTS);
    const confirmed = created.map((body) => String(JSON.parse(body).id));
    expect((await addedIds()).sort()).toEqual(confirmed.sort());
  }, 60_000);

  test('a 401 is counted for the client address, whatever X-Forwarded-For the client sends', async () => {
    const remaining: number[] = [];
    for (let number = 0; number < 6; number++) {
      const headers = { 'X-Forwarded-For': `203.0.113.${number}` };
      const response = await send(haproxy, '/v1/items', { headers });
      expectError(response, 401, 'missing_api_key');
      remaining.push(Number(response.headers['x-ratelimit-remaining']));
    }
    // Each of the two replicas has its own counters.
    expect(Math.min(...remaining)).toBeLessThanOrEqual(300 - 3);
  });

  test('503 with rate limit headers while the database is unavailable and no replica is ready', async () => {
    await relay.cut();
    await responseOf(503, () => send(haproxy, '/health/ready'));
    // By now, the backend of ready replicas is empty.
    await sleep(3 * CHECK_INTERVAL_MS);
    expectError(await client.get('/v1/items'), 503, 'service_unavailable');
    expectError(await send(haproxy, '/v1/items'), 401, 'missing_api_key');
    await relay.restore();
    await responseOf(200, () => client.get('/v1/items'));
  });

  test('503 with an Error body and Retry-After when no replica is running', async () => {
    expect(await Promise.all(replicas.map((replica) => replica.stop('SIGTERM')))).toEqual([0, 0]);
    const { status, headers, json } = await client.get('/v1/items');
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
      'SELECT id FROM items WHERE category_id = $1 AND name = $2',
      [CATEGORY, name],
    );
    return rows.map(({ id }) => id);
  }
});
