import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findPostgresPrograms } from '../harness/database/postgres-programs.js';
import { PostgresServer } from '../harness/database/postgres-server.js';
import { temporaryFolder } from '../harness/pages/reader.js';
import { freePort } from '../harness/processes/free-port.js';
import { until } from '../harness/run/until.js';
import { readProjectFile } from '../harness/stack/compose-file.js';

const ROOT = resolve(__dirname, '../..');
const SCRIPT = join(ROOT, 'deploy/postgres/backup.sh');

const postgres = findPostgresPrograms();

(postgres === undefined ? describe.skip : describe)('deploy/postgres/backup.sh', () => {
  let server: PostgresServer;
  beforeAll(async () => (server = await PostgresServer.create(postgres!)));
  afterAll(() => server.remove());

  const folder = temporaryFolder();
  const metricsFile = join(folder, 'metrics.txt');
  const dumps = join(folder, 'dumps');
  fs.mkdirSync(dumps);

  /** Runs the script, as in a container: what runs the programs sets where the server is. */
  const backUp = (settings: NodeJS.ProcessEnv = {}, database = 'postgres') => {
    const { hostname, port } = new URL(server.url);
    return promisify(execFile)('sh', [SCRIPT, dumps, '14', database], {
      env: {
        PATH: process.env.PATH,
        RUN_IN: `env PGHOST=${hostname} PGPORT=${port} PGUSER=postgres`,
        METRICS_FILE: metricsFile,
        DATABASE_FOLDER: folder,
        ...settings,
      },
    });
  };

  const metrics = (): Record<string, number> =>
    Object.fromEntries(
      fs
        .readFileSync(metricsFile, 'utf8')
        .split('\n')
        .filter((line) => /^\w/.test(line))
        .map((line) => [line.split(' ')[0]!, Number(line.split(' ')[1])]),
    );

  test('a failed backup writes the metrics of the disk, and that there is none', async () => {
    await expect(backUp({}, 'missing')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('database "missing" does not exist'),
    });
    const { bsize, blocks, bavail } = fs.statfsSync(folder);
    const { pets_database_disk_free_bytes: free, ...others } = metrics();
    expect(others).toEqual({
      pets_backup_timestamp_seconds: 0,
      pets_backup_size_bytes: 0,
      pets_database_disk_size_bytes: blocks * bsize,
    });
    expect(Math.abs(free! / (bavail * bsize) - 1)).toBeLessThan(0.2);
  });

  test('the metrics are those of the last dump, for any user, also after a failed backup', async () => {
    const old = join(dumps, 'postgres-2020-01-01T03-00-00Z.dump');
    fs.writeFileSync(old, 'old');
    fs.utimesSync(old, new Date(), new Date(Date.now() - 48 * 3600_000));
    const since = Math.floor(Date.now() / 1000);
    await backUp();
    const names = fs.readdirSync(dumps).filter((name) => /^postgres-.*Z\.dump$/.test(name));
    const [dump = ''] = names.filter((name) => name !== basename(old));
    const { mtimeMs, size } = fs.statSync(join(dumps, dump));
    const written = metrics();
    expect(written).toMatchObject({
      pets_backup_timestamp_seconds: Math.floor(mtimeMs / 1000),
      pets_backup_size_bytes: size,
    });
    expect(written['pets_backup_timestamp_seconds']).toBeGreaterThanOrEqual(since);
    expect(fs.statSync(metricsFile).mode & 0o777).toBe(0o644);
    expect(fs.statSync(join(dumps, dump)).mode & 0o777).toBe(0o600);

    // The server is not on this machine, and cannot be reached.
    const settings = { RUN_IN: 'env PGHOST=127.0.0.1 PGPORT=1', DATABASE_FOLDER: '/missing' };
    await expect(backUp(settings)).rejects.toMatchObject({ code: 1 });
    expect(metrics()).toEqual({
      pets_backup_timestamp_seconds: written['pets_backup_timestamp_seconds'],
      pets_backup_size_bytes: size,
    });
  });

  const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0;

  (hasPrometheus ? test : test.skip)(
    'deploy/systemd/prometheus.yml reads the metrics, and no alert on them fires',
    async () => {
      await backUp();
      const port = await freePort();
      const config = join(folder, 'prometheus.yml');
      const text = readProjectFile('deploy/systemd/prometheus.yml')
        .replace('/opt/animal-adoption-store', ROOT)
        .replaceAll('localhost:9090', `localhost:${port}`)
        .replaceAll('15s', '1s');
      fs.writeFileSync(config, text);
      const prometheus = spawn(
        'prometheus',
        [
          `--config.file=${config}`,
          `--storage.tsdb.path=${join(folder, 'data')}`,
          `--web.listen-address=127.0.0.1:${port}`,
          `--web.user-assets=${folder}`,
        ],
        { stdio: 'ignore' },
      );
      const ask = async (expression: string): Promise<{ value: [number, string] }[]> => {
        const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`;
        const response = await fetch(url, { headers: { Connection: 'close' } }).catch(() => null);
        if (response?.status !== 200) return [];
        const { data } = (await response.json()) as { data: { result: [] } };
        return data.result;
      };
      try {
        const name = 'pets_backup_timestamp_seconds{job="animal-adoption-store-backup"}';
        await until(async () => (await ask(name)).length === 1);
        const [{ value } = { value: [] }] = await ask(name);
        expect(Number(value[1])).toBe(metrics()['pets_backup_timestamp_seconds']);
        // The rule is evaluated.
        await until(async () => (await ask('ALERTS{alertname="TooFewReplicas"}')).length === 1);
        expect(await ask('ALERTS{alertname="BackupOld"}')).toEqual([]);
        fs.rmSync(metricsFile);
        await until(async () => (await ask('ALERTS{alertname="BackupOld"}')).length === 1);
      } finally {
        prometheus.kill();
        await once(prometheus, 'exit');
      }
    },
  );
});
