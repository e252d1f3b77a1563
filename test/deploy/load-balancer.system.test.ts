import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient, type ApiResponse, send } from '../harness/http/client.js';
import { useDatabase } from '../harness/database/database.js';
import { Relay } from '../harness/database/relay.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner, createItems } from '../harness/database/factories.js';
import { findHaproxy, type Haproxy, startHaproxy } from '../harness/processes/haproxy.js';
import { until } from '../harness/run/until.js';
import { type NameServer, startNameServer } from '../harness/processes/name-server.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';
import { askUntil } from '../harness/rate-limit/limits.js';

// All replicas have the same port, as containers do. Only Linux routes all of 127.0.0.0/8 by default.
const command = process.platform === 'linux' ? findHaproxy() : undefined;

const HOSTS = ['127.0.0.2', '127.0.0.3'];
const CLIENTS = 6;
/** Two failed checks remove a replica from rotation. The shutdown delay is several times as long, as in docker-compose.yml. */
const CHECK_INTERVAL_MS = 200;
const SHUTDOWN_DELAY_SECONDS = '5';
/** Few enough requests that the load balancer sees in time what becomes of the replicas. More of them need most of the test's CPU time. */
const PAUSE_MS = 100;
const CREATE = {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: '{"name":"Frank","categoryId":7}',
};

(command ? describe : describe.skip)('replicas behind deploy/haproxy.cfg', () => {
  const database = useDatabase();
  let relay: Relay;
  let names: NameServer;
  let haproxy: Haproxy;
  let key: string;
  let client: ApiClient;
  let items: string[];
  let port = '0';
  const replicas: BuiltService[] = [];
  /** The addresses of the replicas' DNS name. */
  const hosts = [...HOSTS];

  beforeAll(async () => {
    relay = await Relay.open(database.url);
    items = await createItems(database, 30);
    ({ key } = await createOwner(database));
    for (const host of HOSTS) {
      const replica = await startReplica(host);
      port = new URL(replica.url).port;
      replicas.push(replica);
    }
    names = await startNameServer(hosts);
    haproxy = await startHaproxy(command ?? '', {
      REPLICAS: `replicas.test:${port}`,
      DNS_SERVER: names.address,
      CHECK_INTERVAL: `${CHECK_INTERVAL_MS}ms`,
    });
    client = new ApiClient(haproxy, key);
  });

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

  /** Waits until the replica has added an item. */
  const hasAdded = (replica: BuiltService): Promise<unknown> =>
    replica.waitForLog(({ status }) => status === 201);

  /** Sends a request until the response has the status, and returns this response. */
  const responseOf = (status: number, request: () => Promise<ApiResponse>) =>
    askUntil(request, (response) => response.status === status);

  test('a rolling restart under keep-alive load fails no request and adds each item once', async () => {
    const before = haproxy.output().length;
    const added: string[] = [];
    let isOver = false;
    const load = Array.from({ length: CLIENTS }, async (_, first) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (let number = first; !isOver; number++, await sleep(PAUSE_MS)) {
        if (number % 2) {
          const response = await client.send(`/v1/items/${items[number % 30]}`, { agent });
          expect(response.status).toBe(200);
        } else {
          const response = await client.send('/v1/items', { ...CREATE, agent });
          expect(response.status).toBe(201);
          added.push(String(response.json.id));
        }
      }
      agent.destroy();
    });
    const ended = Promise.all(load);
    ended.catch(() => undefined);
    for (const [index, host] of HOSTS.entries()) {
      const replica = replicas[index]!;
      await hasAdded(replica);
      expect(await replica.stop('SIGTERM')).toBe(0);
      replicas[index] = await startReplica(host);
      await hasAdded(replicas[index]);
    }
    isOver = true;
    await ended;

    // HAProxy logs requests that fail at the first attempt. There were none.
    expect(haproxy.output().slice(before)).not.toMatch(/^.* callers .*$/m);
    const rows = await database.query<{ id: string }>(
      `SELECT id FROM test_items WHERE name = 'Frank' ORDER BY id`,
    );
    expect(rows.map(({ id }) => id)).toEqual(added.sort((a, b) => Number(a) - Number(b)));
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

  test('the log of a failed request has its status, and no API key of its path or query', async () => {
    // With an address of its own, because lines of the previous tests may arrive late.
    const agent = new Agent({ localAddress: '127.0.0.9' });
    for (const path of [`/v1/items/${key}`, `/v1/items?api_key=${key}`])
      expect((await client.send(path, { agent })).status).toBe(503);
    const lines = () => haproxy.output().match(/^127\.0\.0\.9:.* callers .* 503 .*$/gm) ?? [];
    await until(() => lines().length === 2);
    expect(haproxy.output()).not.toContain(key);
  });
});
