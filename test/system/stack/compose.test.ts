import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Settings } from '../../../src/platform/config/settings.js';
import { ERRORS, type ErrorCode } from '../../../src/platform/errors/catalogue.js';
import { describeWithRedis, startRedis } from '../../harness/processes/redis.js';
import { readComposeFile, readProjectFile } from '../../harness/stack/compose-file.js';

const { services, networks } = readComposeFile();
const api = services['api']!;
const all = Object.entries(services);
const seconds = (text = ''): number => Number(/^(\d+)s$/.exec(text)?.[1]);

/** Returns the default of a variable in haproxy.cfg. */
const preset = (name: string): string =>
  new RegExp(`^ *presetenv ${name} (.+)$`, 'm').exec(readProjectFile('deploy/haproxy.cfg'))?.[1] ??
  '';

test.each(all)(
  'docker-compose.yml gives %s limits, no rights, and ports of this machine only',
  (_, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      deploy: { resources: { limits: { memory: expect.any(String), pids: expect.any(Number) } } },
    });
    expect(service).not.toHaveProperty('cap_add');
    expect(service).not.toHaveProperty('privileged');
    const ports = service.ports ?? [];
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    const open = service.networks.filter((network) => !networks[network]?.internal);
    expect(open).toHaveLength(ports.length === 0 ? 0 : 1);
  },
);

test('docker-compose.yml connects only containers that communicate', () => {
  const pairs = Object.keys(networks).map((network) =>
    all.flatMap(([name, service]) => (service.networks.includes(network) ? [name] : [])).join(' '),
  );
  expect(pairs.filter((members) => members.includes(' ')).sort()).toEqual([
    'api pets migrate postgres',
    'api pets migrate redis',
    'api prometheus',
    'load-balancer api',
    'prometheus grafana',
  ]);
});

test('docker-compose.yml gives the replicas valid settings, the address of the service’s role, and time to stop', () => {
  const known = new Set<string>();
  new Settings(new Proxy({}, { get: (_, name) => void known.add(String(name)) }));
  const environment = Object.entries(api.environment ?? {});
  expect([...known]).toEqual(expect.arrayContaining(environment.map(([name]) => name)));
  // Other containers write the files.
  const own = environment.filter(([name]) => !name.endsWith('_FILE'));
  const { database, server } = new Settings(
    Object.fromEntries(own.map(([name, value]) => [name, String(value)])),
  );
  expect([database.migrateOnStart, server.trustProxy, server.port]).toEqual([false, 1, 3000]);
  const stopMs = server.shutdownDelayMs + server.shutdownGraceMs;
  expect(seconds(api.stop_grace_period) * 1000).toBeGreaterThan(stopMs);
  for (const [service, role] of Object.entries({ api: 'pets_service', migrate: 'pets_owner' })) {
    expect(services[service]?.volumes?.[0]).toMatchObject({
      target: '/run/postgres',
      volume: { subpath: `addresses/${role}` },
    });
  }
});

test('deploy/haproxy.cfg sends a replica more requests than it admits, and waits longer than it takes', () => {
  const { bounds, database } = new Settings({});
  expect(Number(preset('REQUESTS_PER_REPLICA'))).toBeGreaterThan(bounds.maxRequestsInProgress);
  const longestMs = database.poolWaitMs + database.statementTimeoutMs + 500;
  expect(seconds(preset('RESPONSE_TIMEOUT')) * 1000).toBeGreaterThan(longestMs);
});

test('deploy/compose.tls.yml publishes the HTTPS port of deploy/haproxy.cfg, and mounts the certificates', () => {
  const balancer = readComposeFile('deploy/compose.tls.yml').services['load-balancer']!;
  expect(balancer.ports).toEqual([`0.0.0.0:443${preset('TLS_ADDRESS')}`]);
  const folder = balancer.environment?.['CERTIFICATES'];
  expect(balancer.volumes).toEqual([
    expect.stringMatching(`^\\$\\{CERTIFICATES:.*}:${folder}:ro$`),
  ]);
});

test.each(['429', '503'])('deploy/errors/%s.http has an Error body with a known code', (status) => {
  const [head = '', body = ''] = readProjectFile(`deploy/errors/${status}.http`).split('\n\n');
  const { code, ...rest } = JSON.parse(body) as { code: ErrorCode };
  expect(rest).toEqual({ message: expect.any(String), status: ERRORS[code].status });
  expect(head).toContain(`HTTP/1.1 ${ERRORS[code].status} `);
  expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
});

describeWithRedis('the redis command in docker-compose.yml', () => {
  test('never evicts, uses half of the container’s memory, and preserves counters during a restart', async () => {
    const { command, deploy } = services['redis']!;
    const redis = await startRedis({ args: command!.slice(1) });
    try {
      const configured = async (name: string): Promise<string | undefined> =>
        ((await redis.client.config('GET', name)) as string[])[1];
      expect(await configured('maxmemory-policy')).toBe('noeviction');
      const mebibytes = Number(await configured('maxmemory')) / 1_048_576;
      expect(deploy.resources.limits['memory']).toBe(`${2 * mebibytes}M`);
      await redis.client.set('count', 7);
      await redis.signal('SIGKILL');
      await redis.start();
      expect(await redis.client.get('count')).toBe('7');
    } finally {
      await redis.close();
    }
  });

  const health = services['redis']!.healthcheck!.test.at(-1)!.replaceAll('$$', '$');
  const [, info = ''] =
    /exec redis sh -c '(.*)'$/m.exec(readProjectFile('docs/operations.md')) ?? [];

  test.each([
    ['docker-compose.yml', health],
    ['docs/operations.md', info],
  ])(
    'reads the password from the file, and the arguments of redis-cli in %s do not contain it',
    async (_, command) => {
      const password = 'c0ffee';
      const redis = await startRedis({ args: ['--requirepass', password], password });
      const folder = mkdtempSync(join(tmpdir(), 'pets-compose-'));
      try {
        const cli = `#!/bin/sh\necho "$*"\nPATH=$REAL_PATH exec redis-cli -p ${redis.port} "$@"\n`;
        writeFileSync(join(folder, 'redis-cli'), cli, { mode: 0o755 });
        const REAL_PATH = process.env['PATH'];
        const env = { PATH: `${folder}:${REAL_PATH}`, REAL_PATH };
        const run = (given: string) => {
          writeFileSync(join(folder, 'url'), `redis://default:${given}@redis:6379\n`);
          return spawnSync('sh', ['-c', command], { cwd: folder, env, encoding: 'utf8' });
        };
        const { status, stdout } = run(password);
        expect({ status, stdout }).toEqual({
          status: 0,
          stdout: expect.stringMatching(/PONG|used_memory:/),
        });
        expect(stdout).not.toContain(password);
        const rejected = run('wrong');
        expect(rejected.stdout + rejected.stderr).toContain('NOAUTH');
      } finally {
        rmSync(folder, { recursive: true });
        await redis.close();
      }
    },
  );
});
