import { appendFileSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  DIST,
  EMBEDDED,
  EmbeddedUser,
  endUsers,
  makeCluster,
  makeFolder,
  NATIVE_PACKAGE,
  onLinux,
  processesOf,
  removeFolders,
  until,
} from '../harness/processes/embedded-user.js';

(onLinux ? describe : describe.skip)(
  'when the embedded database cannot start, one line says what to do (Linux only)',
  () => {
    afterEach(endUsers);
    afterAll(removeFolders);
    let stopped: string;

    test('the cluster is of another major version', async () => {
      const dataDir = makeFolder();
      mkdirSync(join(dataDir, 'postgres'));
      writeFileSync(join(dataDir, 'postgres/PG_VERSION'), '17\n');
      expect(await rejection(dataDir)).toMatch(
        /was created by PostgreSQL 17, and the installed binaries are PostgreSQL 18: dump it/,
      );
    });

    test('the folder postgres is something else', async () => {
      const dataDir = makeFolder();
      mkdirSync(join(dataDir, 'postgres'));
      writeFileSync(join(dataDir, 'postgres/notes.txt'), '');
      expect(await rejection(dataDir)).toMatch(/is not a PostgreSQL cluster: move it away/);
    });

    test('DATA_DIR is a file', async () => {
      const dataDir = join(makeFolder(), 'file');
      writeFileSync(dataDir, '');
      expect(await rejection(dataDir)).toContain(dataDir);
    });

    test('the package with the binaries is not installed', async () => {
      const checkout = makeFolder();
      const dist = join(checkout, 'dist');
      cpSync(join(DIST, EMBEDDED), join(dist, EMBEDDED), { recursive: true });
      writeFileSync(join(checkout, 'package.json'), '{"type":"module"}');
      mkdirSync(join(checkout, 'node_modules'));
      symlinkSync(join(NATIVE_PACKAGE, '../../pg'), join(checkout, 'node_modules/pg'));
      expect(await rejection(join(checkout, '.data'), { dist })).toMatch(
        /is not installed: install without --omit=optional/,
      );
    });

    test('the server does not become ready in time', async () => {
      await makeCluster((stopped = makeFolder()));
      expect(await rejection(stopped, { startTimeoutMs: 1 })).toMatch(/did not start/);
      await until(() => processesOf(stopped).length === 0);
    });

    test("the server's log has the reason", async () => {
      const dataDir = stopped;
      appendFileSync(
        join(dataDir, 'postgres/postgresql.conf'),
        'shared_preload_libraries = nonsense\n',
      );
      expect(await rejection(dataDir)).toMatch(
        /did not start \(FATAL: could not access file "nonsense": No such file or directory; log: .*postgres\.log\)/,
      );
    });
  },
);

async function rejection(
  dataDir: string,
  options: { dist?: string; startTimeoutMs?: number } = {},
): Promise<string> {
  const { error, expected } = await new EmbeddedUser(dataDir, 'service', options).rejected();
  expect(expected).toBe(true);
  expect(error).toMatch(/^[^\n]+, or set DATABASE_URL=postgres:\/\/…$/);
  return error;
}
