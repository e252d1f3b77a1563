import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { useDatabase } from '../../../harness/database/database.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { NODE } from '../../../harness/processes/node.js';
import { until } from '../../../harness/run/until.js';
import { spawnBuiltService, startBuiltService } from '../../../harness/service/service.js';

const UNFINISHED = 'GET /v1/items HTTP/1.1\r\n';
const FILES = [
  'swagger-ui-bundle.js',
  'swagger-ui.css',
  'page.css',
  'start-swagger-ui.js',
  'favicon-32x32.png',
];

const database = useDatabase();
/** The bounds depend on it. */
const POOL = { DATABASE_POOL_SIZE: '10' };
const testOnLinux = process.platform === 'linux' ? test : test.skip;

testOnLinux(
  'ulimit -n › the service accepts fewer connections, and the log and the metrics say so',
  async () => {
    const node = ['prlimit', '--nofile=500', ...NODE];
    const service = spawnBuiltService({ DATABASE_URL: database.url, ...POOL }, undefined, node);
    const { address } = await service.waitForLog(({ msg }) => msg === 'listening');
    const warnings = () => service.logs().filter(({ level }) => level === 40 || level === 'warn');
    expect(warnings().map(({ msg }) => msg)).toContain(
      'MAX_CONNECTIONS is 10000, but the limit of open files is 500 (ulimit -n): the service accepts 290 connections',
    );
    const port = Number(new URL(String(address)).port);
    const served = await RawConnection.open({ port }, requestHead('GET /health/live'));
    expect((await served.response()).status).toBe(200);
    const { port: metricsPort } = new URL(
      String(service.logs().find(({ msg }) => msg === 'listening')?.['metrics']),
    );
    // Without a free descriptor, Node.js would close new connections, and count none.
    const scrapers = await Promise.all(
      Array.from({ length: 300 }, () => RawConnection.open({ port: Number(metricsPort) })),
    );
    const connections = await Promise.all(
      Array.from({ length: 600 }, () => RawConnection.open({ port }, UNFINISHED)),
    );
    // The last 290 connections stay open.
    await until(() => connections.filter(({ socket }) => socket.readable).length === 290);
    const last = connections.at(-1)!.write(`Host: pets\r\n\r\n`);
    expect((await last.response()).status).toBe(401);
    await service.waitForLog(({ msg }) =>
      String(msg).startsWith('Limit reached: 290 connections.'),
    );
    await service.waitForLog(({ msg }) => /^Limit reached: .* METRICS_PORT/.test(String(msg)));
    for (const scraper of scrapers) scraper.close();
    expect(await service.metrics()).toMatch(/_shed_total\{bound="connections"\} 311$/m);
    for (const connection of connections) connection.close();
    expect(await service.stop()).toBe(0);
  },
);

testOnLinux.each([
  [
    '100',
    POOL,
    /^DATABASE_POOL_SIZE is invalid: .* 210 open files \(ulimit -n\), but .* is 100\n$/,
  ],
  [
    '1000',
    { DATABASE_POOL_SIZE: '900' },
    /^DATABASE_POOL_SIZE is invalid: .* 1100 open files \(ulimit -n\), but .* is 1000\n$/,
  ],
])('ulimit -n %s %j › the start fails with one line', async (limit, env, line) => {
  const node = ['prlimit', `--nofile=${limit}`, ...NODE];
  const service = spawnBuiltService({ DATABASE_URL: database.url, ...env }, undefined, node);
  expect(await once(service.process, 'close')).toEqual([1, null]);
  expect(service.output()).toMatch(line);
});

testOnLinux('ulimit -n 220 › the service starts, or says that Node.js cannot load it', async () => {
  const node = ['prlimit', '--nofile=220', ...NODE];
  const service = spawnBuiltService({ DATABASE_URL: database.url }, undefined, node);
  const started = service.waitForLog(({ msg }) => msg === 'listening').catch(() => undefined);
  if (await started) {
    await service.stop();
    return;
  }
  expect(service.output()).toMatch(/^Node\.js needs .* but the limit is 220 \(ulimit -n\): .+\n$/);
});

testOnLinux('GET /docs/… › 200 when the process cannot open files any more', async () => {
  const service = await startBuiltService({ DATABASE_URL: database.url });
  const connection = await RawConnection.open({ port: Number(new URL(service.url).port) });
  const limitFiles = (soft: number) =>
    execFileSync('prlimit', ['--pid', String(service.process.pid), `--nofile=${soft}:`]);
  await connection.write(requestHead('GET /health/live')).response();
  limitFiles(1);
  for (const path of FILES) {
    const { status, headers } = await connection.write(requestHead(`GET /docs/${path}`)).response();
    expect([path, status, headers['content-encoding']]).toEqual([path, 200, 'gzip']);
  }
  limitFiles(1_024);
  connection.close();
  expect(await service.stop()).toBe(0);
});
