import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { Relay } from '../../../harness/database/relay.js';
import { ApiClient } from '../../../harness/http/client.js';
import { PROGRAM, resultOf } from '../../../harness/processes/command.js';
import { type NameServer, startNameServer } from '../../../harness/processes/name-server.js';
import { NODE } from '../../../harness/processes/node.js';
import { until } from '../../../harness/run/until.js';
import {
  type BuiltProcess,
  inheritedEnvironment,
  PATIENT,
  spawnBuiltService,
  startBuiltService,
} from '../../../harness/service/service.js';

const SILENT = 'silent.test';
/** The resolver of glibc waits five times for this number of seconds, its highest. */
const LONG_WAIT = 'timeout:30 attempts:5';
const FAST = { RES_OPTIONS: LONG_WAIT, DATABASE_POOL_WAIT_SECONDS: '0.5' };
/** Many times what a process needs to end. The lookup takes longer: the resolver waits for two and a half minutes. */
const EXIT_LIMIT_MS = 60_000;

const hasNamespaces =
  process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;
if (!hasNamespaces) console.warn('To test names without a response, be root on Linux.');

(hasNamespaces ? describe : describe.skip)('a name whose lookup gets no response', () => {
  const database = useDatabase();
  let folder: string;
  let names: NameServer;
  let command: string[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'pets-names-'));
    // The resolver of libc has a fixed port.
    const host = `127.53.${process.pid & 255}.${(process.pid >> 8) & 255}`;
    names = await startNameServer(['127.0.0.1'], { host, port: 53, silentName: SILENT });
    const file = join(folder, 'resolv.conf');
    writeFileSync(file, `nameserver ${host}\noptions ${LONG_WAIT}\n`);
    const script = 'mount --bind "$0" /etc/resolv.conf && exec "$@"';
    command = ['unshare', '--mount', 'sh', '-c', script, file, ...NODE];
  });
  afterAll(async () => {
    await names.close();
    rmSync(folder, { recursive: true });
  });

  /** Waits until Redis was tried several times. */
  async function untilTried(service: BuiltProcess): Promise<void> {
    await until(async () => {
      const text = await service.metrics();
      const [, failures] = /redis_failures_total\{reason="connection"\} (\d+)/.exec(text) ?? [];
      return Number(failures) >= 8;
    });
  }

  /** Expects that the process ends although its lookup goes on, which the exit code of a process cannot do. */
  async function expectEndDuringLookup(child: ChildProcess): Promise<void> {
    const timer = setTimeout(() => child.kill('SIGKILL'), EXIT_LIMIT_MS);
    const isRunning = child.exitCode === null && child.signalCode === null;
    if (isRunning) await once(child, 'exit');
    clearTimeout(timer);
    expect([child.exitCode, child.signalCode]).toEqual([null, 'SIGTERM']);
  }

  test('Redis: connections to PostgreSQL that broke are replaced, no request fails for longer, and SIGTERM ends the process', async () => {
    const relay = await Relay.open(database.url);
    const url = new URL(relay.url);
    url.hostname = 'postgres.test';
    const env = { DATABASE_URL: url.href, REDIS_URL: `redis://${SILENT}`, RES_OPTIONS: LONG_WAIT };
    const service = await startBuiltService(env, undefined, command);
    const { key } = await createOwner(database, { plan: 'free' });
    await untilTried(service);
    await relay.cut();
    await relay.restore();
    const list = () => new ApiClient(service, key).get('/v1/items');
    await until(async () => (await list()).status === 200);
    const lines = service.logs().filter(({ msg = '' }) => msg.startsWith('Counting rate limits'));
    expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining(`lookup of ${SILENT}`)]);
    service.process.kill('SIGTERM');
    await expectEndDuringLookup(service.process);
    expect(service.logs().at(-1)).toMatchObject({ msg: 'stopped' });
  });

  test('PostgreSQL: SIGTERM during the start of the service ends the process', async () => {
    const env = { DATABASE_URL: `postgres://${SILENT}/pets`, RES_OPTIONS: LONG_WAIT };
    const service = spawnBuiltService(
      { ...env, DATABASE_POOL_WAIT_SECONDS: '60' },
      undefined,
      command,
    );
    await names.askedForSilentName();
    service.process.kill('SIGTERM');
    await expectEndDuringLookup(service.process);
    expect(service.logs().at(-1)).toMatchObject({ msg: 'stopped', signal: 'SIGTERM' });
  });

  test('as process 1 of a container, which gets no signal from itself, the process waits for each server of names for a second', async () => {
    const env = { DATABASE_URL: `postgres://${SILENT}/pets`, DATABASE_POOL_WAIT_SECONDS: '0.5' };
    const [unshare = '', ...rest] = command;
    const isolated = [unshare, '--pid', '--fork', '--kill-child', ...rest];
    const service = spawnBuiltService({ ...env, RES_OPTIONS: '' }, undefined, isolated);
    const timer = setTimeout(() => service.process.kill('SIGKILL'), EXIT_LIMIT_MS);
    await once(service.process, 'exit');
    clearTimeout(timer);
    expect([service.process.exitCode, service.output()]).toEqual([
      1,
      expect.stringContaining('The database cannot be reached'),
    ]);
  });

  test('PostgreSQL: the start of the service fails, and the process ends', async () => {
    const env = { DATABASE_URL: `postgres://${SILENT}/pets`, ...FAST };
    const service = spawnBuiltService(env, undefined, command);
    await expectEndDuringLookup(service.process);
    expect(service.output()).toContain('The database cannot be reached');
  });

  test('PostgreSQL: a command fails, and its process ends', async () => {
    const [program = '', ...options] = command;
    const env = { ...PATIENT, DATABASE_URL: `postgres://${SILENT}/pets`, ...FAST };
    const child = spawn(program, [...options, PROGRAM, 'keys', 'list'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inheritedEnvironment(), ...env },
    });
    const result = resultOf(child);
    await expectEndDuringLookup(child);
    expect((await result).stderr).toContain('The database cannot be reached');
  });
});
