import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { PRODUCT } from '../../../../src/product.js';
import {
  asRoot,
  copyOfBuild,
  copyPrograms,
  EmbeddedUser,
  endUsers,
  giveFolders,
  makeCluster,
  makeFolder,
  NATIVE_PACKAGE,
  onLinux,
  ownFile,
  postmasterOf,
  processesOf,
  query,
} from '../../../harness/processes/embedded-user.js';

const NOBODY = 65_534;
/** Where a program names its architecture. */
const E_MACHINE = 18;
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
    fs.mkdirSync(dataDir);
    await makeCluster(dataDir);
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

describe('the embedded server on macOS, as far as Linux can show it (needs root on Linux)', () => {
  /** The bytes of a path that is too long for a socket there. */
  const TOO_LONG = 104;

  others.each([
    ['starts', TOO_LONG - 1],
    ['is rejected with one line', TOO_LONG],
  ])('%s if the path of its socket has %d bytes', async (_what, bytes) => {
    const checkout = makeFolder();
    const dist = copyOfBuild(checkout);
    copyPrograms(checkout, 'darwin');
    const parent = makeFolder();
    const rest = bytes - `${parent}//postgres/.s.PGSQL.5432`.length;
    const dataDir = join(parent, 'd'.repeat(rest));
    if (bytes < TOO_LONG) {
      fs.mkdirSync(dataDir);
      await makeCluster(dataDir);
    }
    giveFolders(OTHER, checkout);
    spawnSync('chown', ['-R', '-h', `${OTHER}:${OTHER}`, parent]);
    const asMac = `Object.defineProperty(process, 'platform', { value: 'darwin' });`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(asMac)}`;
    const options = { dist, uid: OTHER, environment: { NODE_OPTIONS } };
    const user = new EmbeddedUser(dataDir, 'service', options);
    if (bytes < TOO_LONG) {
      expect((await user.opened()).connection.host).toBe(join(dataDir, 'postgres'));
      expect(await user.close()).toBe(0);
    } else {
      expect(await user.rejected()).toContain(
        `the path of PostgreSQL's socket is too long (at most 103 bytes): choose a DATA_DIR with a shorter path`,
      );
      expect(fs.readdirSync(dataDir)).toEqual([]);
    }
    expect(processesOf(dataDir)).toEqual([]);
  });
});

describe('root that may not become another user (needs root on Linux)', () => {
  others.each(['-chown', '-setuid,-setgid'])('gets one line: %s', async (capabilities) => {
    const drop = ['--bounding-set', capabilities, '--inh-caps', capabilities];
    const user = new EmbeddedUser(join(makeFolder(), '.data'), 'service', {
      command: ['setpriv', ...drop],
    });
    expect(await user.rejected()).toContain('run this as another user than root');
  });
});

describe('the embedded server in an image (needs root on Linux)', () => {
  others('needs none of its programs but a shell', async () => {
    const dataDir = join(makeFolder(), '.data');
    const environment = { PATH: '/nowhere', PROGRAMS_FOLDER: join(makeFolder(), 'programs') };
    const user = new EmbeddedUser(dataDir, 'service', { environment });
    await user.opened();
    expect(await user.close()).toBe(0);
  });
});

describe('the embedded server of an ordinary user (needs root on Linux)', () => {
  others('runs as this user, also when root opens its cluster', async () => {
    const checkout = join(makeFolder(), `spaces and ünï cödé`);
    const dist = installedBuild(checkout);
    const dataDir = join(makeFolder(), '.data');
    giveFolders(OTHER, checkout);
    giveFolders(OTHER, join(dataDir, '..'));
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
    'gets one line if %s belongs to another one',
    async (which) => {
      const root = makeFolder();
      const home = makeFolder();
      const folder = join(root, 'data');
      fs.mkdirSync(folder, { mode: 0o700 });
      const dataDir = which === 'the folder' ? folder : join(folder, 'data');
      const dist = installedBuild(home);
      const line = await new EmbeddedUser(dataDir, 'service', { dist, uid: OTHER }).rejected();
      expect(line).toMatch(/permission denied.*: run this as the user who owns the folder, or set/);
      expect(line).toContain(folder);
    },
  );

  others.each<[title: string, change: (programs: string) => void, remedy: string]>([
    [
      'without the loader of glibc',
      (programs) => {
        const program = ownFile(join(programs, 'bin/initdb'));
        const text = fs.readFileSync(program, 'latin1');
        fs.writeFileSync(program, text.replace(/(\/ld-linux-[\w.-]+)\d\0/, '$1x\0'), 'latin1');
      },
      'install the packages on the system that runs them: on Linux, one with glibc',
    ],
    [
      'without one of its libraries',
      (programs) => fs.rmSync(join(programs, 'lib'), { recursive: true }),
      'install the packages on the system that runs them',
    ],
    [
      'whose programs cannot be run',
      (programs) => fs.chmodSync(ownFile(join(programs, 'bin/initdb')), 0o644),
      'install the packages on the system that runs them',
    ],
    [
      'of which a part is missing',
      (programs) => fs.rmSync(join(programs, 'bin'), { recursive: true }),
      'is not installed: install without --omit=optional',
    ],
    [
      'with the programs of another architecture',
      (programs) => {
        const descriptor = fs.openSync(ownFile(join(programs, 'bin/initdb')), 'r+');
        fs.writeSync(descriptor, Buffer.of(0xf3), 0, 1, E_MACHINE);
        fs.closeSync(descriptor);
      },
      'install the packages on the system that runs them',
    ],
    [
      'with an empty program',
      (programs) => fs.truncateSync(ownFile(join(programs, 'bin/initdb'))),
      'initdb created no cluster: install the packages on the system',
    ],
    [
      'with a program that is cut off',
      (programs) => fs.truncateSync(ownFile(join(programs, 'bin/postgres')), 100_000),
      'install the packages on the system that runs them',
    ],
    [
      'without the files that are no programs',
      (programs) => fs.rmSync(join(programs, 'share'), { recursive: true }),
      'install the packages on the system that runs them',
    ],
    [
      'with too few processes',
      (programs) => {
        const program = join(programs, 'bin/initdb');
        fs.renameSync(program, `${program}-real`);
        const script = '#!/bin/sh\nexec prlimit --nproc=1 "$0-real" "$@"\n';
        fs.writeFileSync(program, script, { mode: 0o755 });
      },
      'raise the limits of processes and memory',
    ],
  ])('one line says what to do on a system %s', async (_title, change, remedy) => {
    const checkout = makeFolder();
    const dist = copyOfBuild(checkout);
    change(copyPrograms(checkout));
    // The links between the libraries are created at the start.
    giveFolders(OTHER, checkout);
    const dataDir = join(makeFolder(0o777), '.data');
    const user = new EmbeddedUser(dataDir, 'service', { dist, uid: OTHER });
    expect(await user.rejected()).toContain(remedy);
    // Otherwise, the next start would take the folder for a cluster.
    expect(fs.existsSync(join(dataDir, 'postgres'))).toBe(false);
  });

  others('a server does not keep running if pg_ctl gives up while it still starts', async () => {
    const checkout = makeFolder();
    const dist = copyOfBuild(checkout);
    const control = join(copyPrograms(checkout), 'bin/pg_ctl');
    fs.renameSync(control, `${control}-real`);
    const script = '#!/bin/sh\n"$0-real" "$@" && [ "$1" != start ]\n';
    fs.writeFileSync(control, script, { mode: 0o755 });
    const dataDir = makeFolder(0o700);
    await makeCluster(dataDir);
    giveFolders(OTHER, checkout);
    spawnSync('chown', ['-R', '-h', `${OTHER}:${OTHER}`, dataDir]);
    const user = new EmbeddedUser(dataDir, 'service', { dist, uid: OTHER });
    expect(await user.rejected()).toContain('PostgreSQL did not start');
    expect(processesOf(dataDir)).toEqual([]);
  });

  others.each([
    ['open files', ['prlimit', '--nofile=30'], /too many open files|EMFILE|descriptors/i],
    ['the size of files', ['prlimit', '--fsize=1000000'], /File too large|EFBIG/],
    [
      'shared memory',
      ['unshare', '--ipc', 'sh', '-c', 'sysctl -qw kernel.shmmni=0; exec "$@"', 'sh'],
      /raise the limits of shared memory/,
    ],
  ])('one line names a limit that is too low: %s', async (_limit, command, reason) => {
    const dataDir = join(makeFolder(), '.data');
    const user = new EmbeddedUser(dataDir, 'service', { command });
    expect(await user.rejected()).toMatch(reason);
    expect(processesOf(dataDir)).toEqual([]);
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
function installedBuild(checkout: string): string {
  const dist = copyOfBuild(checkout);
  copyPrograms(checkout);
  return dist;
}

function uidOf(pid: number): number {
  return fs.statSync(`/proc/${pid}`).uid;
}
