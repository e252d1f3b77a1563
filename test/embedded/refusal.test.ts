import { appendFileSync, chownSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  asRoot,
  DIST,
  EMBEDDED,
  EmbeddedUser,
  endUsers,
  makeCluster,
  makeFolder,
  NATIVE_PACKAGE,
  onLinux,
  removeFolders,
} from '../harness/processes/embedded-user.js';

const ofLinux = onLinux ? describe : describe.skip;

ofLinux('when the embedded database cannot start, one line says why (Linux only)', () => {
  afterEach(endUsers);
  afterAll(removeFolders);

  const rejection = (dataDir: string, dist?: string): Promise<string> =>
    new EmbeddedUser(dataDir, 'service', { dist }).rejected();

  test('the cluster is of another major version', async () => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    writeFileSync(join(dataDir, 'postgres/PG_VERSION'), '17\n');
    expect(await rejection(dataDir)).toMatch(
      /files are incompatible with server .* version 17, which is not compatible with .* 18/,
    );
  });

  test('the folder postgres is something else', async () => {
    const dataDir = makeFolder();
    mkdirSync(join(dataDir, 'postgres'));
    // The owner runs the server for root.
    if (asRoot) chownSync(join(dataDir, 'postgres'), 65_534, 65_534);
    writeFileSync(join(dataDir, 'postgres/notes.txt'), '');
    expect(await rejection(dataDir)).toMatch(/is not a database cluster directory/);
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
    expect(await rejection(join(checkout, '.data'), dist)).toMatch(
      /is not installed: install without --omit=optional/,
    );
  });

  test("the server's log has the reason", async () => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    appendFileSync(join(dataDir, 'postgres/postgresql.conf'), 'shared_preload_libraries = none\n');
    expect(await rejection(dataDir)).toMatch(
      /did not start \(FATAL: could not access file "none": No such file or directory; log: .*server\.log\)/,
    );
  });
});
