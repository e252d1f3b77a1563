import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOwner } from '../../../harness/database/factories.js';
import { findPostgresPrograms } from '../../../harness/database/postgres-programs.js';
import { PostgresServer, USER } from '../../../harness/database/postgres-server.js';
import { ApiClient } from '../../../harness/http/client.js';
import { Cli } from '../../../harness/processes/command.js';
import { until } from '../../../harness/run/until.js';
import { metric } from '../../../harness/service/metrics.js';
import { startService, type TestService } from '../../../harness/service/service.js';

const programs = findPostgresPrograms();
/** A disk of its own, which root can mount. */
const disk = mkdtempSync(join(tmpdir(), 'pets-disk-'));
const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk]).status === 0;
const NAME = 'x'.repeat(250);
const filler = join(disk, 'filler');
if (!isMounted) process.stderr.write('Skipped: only root can mount a disk.\n');
afterAll(() => {
  if (isMounted) spawnSync('umount', [disk]);
  rmdirSync(disk);
});

(programs && isMounted ? describe : describe.skip)('a full disk of the database', () => {
  let server: PostgresServer;
  let service: TestService;
  let api: ApiClient;

  beforeAll(async () => {
    server = await PostgresServer.create(programs!);
    const folder = join(disk, 'tablespace');
    chmodSync(disk, 0o755);
    mkdirSync(folder);
    if (USER.uid !== undefined) chownSync(folder, USER.uid, USER.gid);
    await server.query(`CREATE TABLESPACE disk LOCATION '${folder}'`);
    await server.query('ALTER TABLE test_items SET TABLESPACE disk');
    const { key } = await createOwner(server.database);
    service = await startService({
      database: server.database,
      env: { MIGRATE_ON_START: 'false' },
    });
    api = new ApiClient(service, key);
  });
  afterAll(async () => {
    await service.close();
    await server.remove();
  });

  const create = () => api.post('/v1/items', { name: NAME, categoryId: 1 });
  const state = async () => {
    const { json } = await api.get('/health/ready');
    const writes = await metric(service, 'component_up{component="database_writes"}');
    return [json.status, json.checks.database, writes];
  };

  test('readiness is degraded and the metric of writes is 0 until a write succeeds', async () => {
    expect((await create()).status).toBe(201);
    expect(await state()).toEqual(['ok', 'up', 1]);
    fill();
    await until(async () => (await create()).status === 503);
    expect(await state()).toEqual(['degraded', 'read-only', 0]);
    expect((await api.get('/v1/items')).status).toBe(200);
    const { cause } = await service.waitForLog(({ msg }) => msg === 'component changed');
    expect(cause).toMatch(/^53100: .*No space left on device/);
    rmSync(filler);
    expect(await state()).toEqual(['degraded', 'read-only', 0]);
    expect((await create()).status).toBe(201);
    expect(await state()).toEqual(['ok', 'up', 1]);
  });

  test('a command says that the disk is full and that nothing was added', async () => {
    const items = await server.query('SELECT * FROM test_items ORDER BY id');
    const file = join(disk, 'items.csv');
    const rows = Array.from({ length: 2_000 }, (_, index) => `${items[0]!['id']}${index},${NAME}`);
    writeFileSync(file, `id,name,categoryId\n${rows.map((row) => `${row},1\n`).join('')}`);
    fill();
    const cli = new Cli({ DATABASE_URL: server.url });
    const line = await cli.failure(1, 'items', 'import', file);
    expect(line).toMatch(
      /^The disk of the database is full\. Nothing was added\. \(53100: .*No space left on device\)$/,
    );
    expect(await server.query('SELECT * FROM test_items ORDER BY id')).toEqual(items);
    expect(
      await server.query(`SELECT FROM operator_actions WHERE action = 'items import'`),
    ).toEqual([]);
    rmSync(filler);
  });
});

function fill(): void {
  expect(spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=8k']).status).not.toBe(0);
}
