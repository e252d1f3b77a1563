import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { currentBuild } from '../../../src/platform/config/version.js';
import { createMetricsServer } from '../../../src/platform/metrics/metrics-server.js';
import { PRODUCT } from '../../../src/product.js';
import { ApiClient, send } from '../../harness/http/client.js';
import { useDatabase } from '../../harness/database/database.js';
import { createOwner } from '../../harness/database/factories.js';
import { RawConnection } from '../../harness/http/raw-connection.js';
import { HANG_LIMIT_MS } from '../../harness/run/until.js';
import { type BuiltService, startBuiltService } from '../../harness/service/service.js';

const DURATION = 'http_server_request_duration_seconds';

const database = useDatabase();
let service: BuiltService;
let metrics: { url: string };
let client: ApiClient;

beforeAll(async () => {
  service = await startBuiltService({ DATABASE_URL: database.url });
  metrics = { url: String(service.logs().find(({ msg }) => msg === 'listening')?.['metrics']) };
  client = new ApiClient(service, (await createOwner(database)).key);
});

/** Returns the counts of requests by their labels: method, route and status. */
async function requestCounts(): Promise<Map<string, number>> {
  const { text } = await send(metrics, '/metrics');
  const line = new RegExp(
    `^${DURATION}_count\\{http_request_method="(.*?)",http_route="(.*?)",http_response_status_code="(\\d+)"\\} (\\d+)$`,
    'gm',
  );
  return new Map(
    [...text.matchAll(line)].map(([, method, route, status, count]) => [
      `${method} ${route} ${status}`,
      Number(count),
    ]),
  );
}

test('GET /metrics is Prometheus text on the metrics listener, and HEAD the same without it', async () => {
  const { status, headers, text } = await send(metrics, '/metrics');
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
  expect(text).toContain(`# TYPE ${DURATION} histogram`);
  for (const [path, status] of [['/metrics?a=b', 200] as const, ['/', 404] as const]) {
    const head = await send(metrics, path, { method: 'HEAD' });
    expect([head.status, head.text]).toEqual([status, '']);
    expect(head.headers['content-type']).toBe(status === 200 ? headers['content-type'] : undefined);
  }
});

test('GET /metrics › 500 when a metric cannot be read, and the log says why', async () => {
  const lines: string[] = [];
  const logger = pino({}, { write: (line) => lines.push(line) });
  const read = () => Promise.reject(new Error('broken'));
  const server = createMetricsServer(read, logger).listen(0);
  await once(server, 'listening');
  expect((await send(server.address() as AddressInfo, '/metrics')).status).toBe(500);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ err: { message: 'broken' } }]);
  server.close();
});

test('the metrics listener serves nothing else, and the main listener no metrics', async () => {
  for (const path of ['/', '/v1/items', '/metrics/', '/health/live']) {
    const { status, headers } = await send(metrics, path);
    expect([status, headers['x-content-type-options']]).toEqual([404, 'nosniff']);
  }
  expect((await send(metrics, '/metrics', { method: 'POST' })).status).toBe(404);
  expect((await client.get('/metrics')).status).toBe(404);
});

test('GET /metrics › 200 while 100 connections send nothing, which are closed soon', async () => {
  const { port } = new URL(metrics.url);
  const silent = await Promise.all(
    Array.from({ length: 100 }, () => RawConnection.open({ port: Number(port) })),
  );
  const { status, headers } = await send(metrics, '/metrics');
  expect([status, headers.connection]).toEqual([200, 'close']);
  const startedMs = performance.now();
  await Promise.all(
    silent.map((connection) => connection.serverEnd().catch(() => connection.close())),
  );
  expect(performance.now() - startedMs).toBeLessThan(HANG_LIMIT_MS / 2);
});

test('requests are counted by method, route template and status', async () => {
  const { headers } = await client.get('/v1/items?limit=7');
  // By the clock of the machine, which most tests replace.
  const secondsLeft = Number(headers['x-ratelimit-reset']) - Date.now() / 1_000;
  expect(Math.abs(secondsLeft)).toBeLessThan(61);
  await client.get('/v1/items/4711');
  await client.get('/v1/items/4712');
  await send(service, '/v1/items/4713');
  await send(service, '/v1/items/4713', { method: 'HEAD' });
  expect(Object.fromEntries(await requestCounts())).toMatchObject({
    'GET /v1/items 200': 1,
    'GET /v1/items/:itemId 404': 2,
    'GET /v1/items/:itemId 401': 1,
    'HEAD /v1/items/:itemId 401': 1,
  });
});

test('callers cannot add labels', async () => {
  const methods = ['GET', 'POST', 'PROPFIND', 'LINK', 'TRACE', 'M-SEARCH', 'PURGE'];
  const sendAll = async (name: string): Promise<void> => {
    for (const method of methods) {
      await client.send(`/${name}`, { method });
      await client.send(`/v1/items/${name}`, { method });
    }
  };
  await sendAll('first');
  const before = (await requestCounts()).size;
  for (const name of ['a', 'b/c', '%41', '..%2f', '%', 'd?e', 'f%20"}']) await sendAll(name);
  const after = await requestCounts();
  expect(after.size).toBeLessThanOrEqual(before + 1);
  for (const labels of after.keys()) {
    expect(labels).toMatch(/^(GET|HEAD|POST|_OTHER) (unmatched|\/v1\/items(\/:itemId)?) \d{3}$/);
  }
});

test('GET /metrics › build_info, the line `listening` and --version have the commit of the image or the checkout', async () => {
  // The build of the tests lies in no repository.
  const unknown = { commit: 'unknown', commitDate: 'unknown' };
  expect(service.logs().find(({ msg }) => msg === 'listening')).toMatchObject(unknown);
  const { text } = await send(metrics, '/metrics');
  const buildInfo = `^${PRODUCT.metricsPrefix}build_info\\{.*commit="unknown",commit_date="unknown"\\} 1$`;
  expect(text).toMatch(RegExp(buildInfo, 'm'));
  const image = { COMMIT: 'a'.repeat(40), COMMIT_DATE: '2026-11-27T10:00:00Z' };
  expect(await currentBuild('.', image)).toMatchObject({
    commit: 'a'.repeat(12),
    commitDate: '2026-11-27T10:00:00Z',
  });
  const { status, stdout } = spawnSync('git', ['log', '-1', '--format=%H %cI'], {
    encoding: 'utf8',
  });
  if (status === 0 && existsSync('.git')) {
    const { commit, commitDate } = await currentBuild('.', {});
    const [id, date] = stdout.trim().split(' ');
    expect(id?.startsWith(commit)).toBe(true);
    expect(commitDate).toBe(date);
  }
});
