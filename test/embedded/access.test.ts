import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  asRoot,
  EmbeddedUser,
  endUsers,
  makeCluster,
  makeFolder,
  onLinux,
  type Opened,
  postmasterOf,
  query,
  removeFolders,
} from '../harness/processes/embedded-user.js';

const NOBODY = 65_534;
const SERVER_USER = 61_000;
const TRUST = '# as initdb writes it\nlocal all all trust\n';

const ofLinux = onLinux ? describe : describe.skip;
const ofRoot = onLinux && asRoot ? describe : describe.skip;

afterEach(endUsers);
afterAll(removeFolders);

/** Runs `work` in a Node process of another user. Returns what it prints. */
function asUser(uid: number, work: string): string {
  const { stdout, stderr } = spawnSync(process.execPath, ['--eval', work], {
    uid,
    gid: uid,
    cwd: '/',
    encoding: 'utf8',
  });
  return `${stdout}${stderr}`;
}

/**
 * Returns what becomes of a connection to the socket and of a look at the password, in a process of
 * this user.
 */
function attemptOf(uid: number, { host, port }: Opened['connection'], dataDir: string): string {
  return asUser(
    uid,
    `require('net').connect('${host}/.s.PGSQL.${port}')
       .on('connect', () => { console.log('socket: open'); process.exit(); })
       .on('error', ({ code }) => console.log('socket:', code));
     try { console.log(fs.readFileSync('${dataDir}/postgres.password', 'utf8')); }
     catch ({ code }) { console.log('password:', code); }`,
  );
}

const withPassword = ({ connection }: Opened, password: string): Opened =>
  ({ connection: { ...connection, password } }) as Opened;

async function failureOf(work: Promise<unknown>): Promise<{ code?: string; message: string }> {
  return work.then(
    () => ({ message: 'none' }),
    (error: unknown) => error as Error,
  );
}

const accessFile = (dataDir: string): string => join(dataDir, 'postgres/pg_hba.conf');

ofLinux('who can connect to the embedded server (Linux only)', () => {
  test('who knows the password, and nobody else, though the socket is open to them', async () => {
    const dataDir = makeFolder();
    const opened = await new EmbeddedUser(dataDir, 'service').opened();

    expect(statSync(join(dataDir, 'postgres.password')).mode & 0o777).toBe(0o600);
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await failureOf(query(withPassword(opened, 'guessed'), 'select 1'))).toMatchObject({
      code: '28P01',
    });
    await query(opened, 'create role other login');
    const asOther = { connection: { ...opened.connection, user: 'other' } } as Opened;
    expect(await failureOf(query(asOther, 'select 1'))).toMatchObject({ code: '28P01' });
  });

  test('the password is not in the log, nor what the server stores of it', async () => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    writeFileSync(
      join(dataDir, 'postgres/postgresql.auto.conf'),
      `log_statement = 'all'\nlog_min_error_statement = 'debug5'\n`,
    );
    const opened = await new EmbeddedUser(dataDir, 'service').opened();
    await query(opened, 'select 1');
    const log = readFileSync(join(dataDir, 'postgres.log'), 'utf8');
    expect(log).toContain('select 1');
    expect(log).not.toContain(readFileSync(join(dataDir, 'postgres.password'), 'utf8'));
  });

  test.each([
    ['the password is lost', (dataDir: string) => rmSync(join(dataDir, 'postgres.password'))],
    [
      'the password is another one',
      (dataDir: string) => writeFileSync(join(dataDir, 'postgres.password'), 'restored'),
    ],
    [
      'the rules are of another one',
      (dataDir: string) => writeFileSync(accessFile(dataDir), 'local all all reject\n'),
    ],
    ['the rules are lost', (dataDir: string) => rmSync(accessFile(dataDir))],
  ])('the next start puts it in order when %s', async (_what, damage) => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    const before = new EmbeddedUser(dataDir, 'service');
    await before.opened();
    await before.close();
    damage(dataDir);
    const opened = await new EmbeddedUser(dataDir, 'service').opened();
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await failureOf(query(withPassword(opened, 'guessed'), 'select 1'))).toMatchObject({
      code: '28P01',
    });
  });

  test("a server that the first release's service runs, without a password, is used as it is", async () => {
    const dataDir = makeFolder();
    const service = new EmbeddedUser(dataDir, 'service');
    const opened = await service.opened();
    const owner = statSync(accessFile(dataDir));
    writeFileSync(accessFile(dataDir), TRUST);
    chownSync(accessFile(dataDir), owner.uid, owner.gid);
    await query(opened, 'select pg_reload_conf()');
    rmSync(join(dataDir, 'postgres.password'));

    const command = await new EmbeddedUser(dataDir, 'command').opened();
    expect(command.connection).not.toHaveProperty('password');
    expect(await query(command, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(readFileSync(accessFile(dataDir), 'utf8')).toBe(TRUST);
  });
});

ofRoot('the embedded server started by root (needs root on Linux)', () => {
  let dataDir: string;
  let opened: Opened;
  beforeEach(async () => {
    dataDir = join(makeFolder(), '.data');
    opened = await new EmbeddedUser(dataDir, 'service').opened();
  });

  test('other users cannot connect: not nobody, and not even the user that runs the server', () => {
    expect(attemptOf(NOBODY, opened.connection, dataDir)).toMatch(
      /password: EACCES\nsocket: EACCES/,
    );
    // Opens the socket, which its user owns, and does not know the password.
    expect(attemptOf(SERVER_USER, opened.connection, dataDir)).toMatch(
      /password: EACCES\nsocket: open/,
    );
  });

  test('has no capability, whatever runs in it', async () => {
    const pids = await query(opened, 'select pid from pg_stat_activity union select 0');
    for (const pid of [postmasterOf(dataDir), ...pids.map(({ pid }) => Number(pid))]) {
      if (!existsSync(`/proc/${pid}/status`)) continue;
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      expect(status).toMatch(new RegExp(`^Uid:(\\t${SERVER_USER}){4}$`, 'm'));
      expect(status).toMatch(new RegExp(`^Gid:(\\t${SERVER_USER}){4}$`, 'm'));
      expect(status).toMatch(/^Groups:\s*$/m);
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) {
        expect(status).toMatch(new RegExp(`^${set}:\\t0+$`, 'm'));
      }
    }
  });

  test("COPY … TO PROGRAM cannot write into root's folders, nor read root's files", async () => {
    const target = makeFolder(0o755);
    writeFileSync(join(target, 'secret'), 'x', { mode: 0o600 });
    for (const command of [`touch ${target}/made`, `cat ${target}/secret`, `ls /root`]) {
      expect(
        await failureOf(query(opened, `copy (select 1) to program '${command}'`)),
      ).toMatchObject({
        code: '38000',
      });
    }
    expect(readdirSync(target)).toEqual(['secret']);
  });
});

ofRoot("a cluster that the first release's root has made (needs root on Linux)", () => {
  test("goes on with its data, as the server's own user and with a password", async () => {
    const dataDir = join(makeFolder(), '.data');
    const first = new EmbeddedUser(dataDir, 'service');
    const made = await first.opened();
    await query(made, 'create table kept as select 42 as value');
    await first.close();
    rmSync(join(dataDir, 'postgres.password'));
    writeFileSync(accessFile(dataDir), TRUST);
    spawnSync('chown', ['-R', `${NOBODY}:${NOBODY}`, join(dataDir, 'postgres')]);
    chownSync(join(dataDir, 'postgres.log'), NOBODY, NOBODY);

    const opened = await new EmbeddedUser(dataDir, 'service').opened();
    expect(await query(opened, 'select value from kept')).toEqual([{ value: 42 }]);
    expect(statSync(`/proc/${postmasterOf(dataDir)}`).uid).toBe(SERVER_USER);
    expect(attemptOf(NOBODY, opened.connection, dataDir)).toMatch(/socket: EACCES/);
    expect(await failureOf(query(withPassword(opened, 'guessed'), 'select 1'))).toMatchObject({
      code: '28P01',
    });
    const others = readdirSync(join(dataDir, 'postgres'), { recursive: true, withFileTypes: true });
    for (const { parentPath, name } of others) {
      expect(statSync(join(parentPath, name)).uid).toBe(SERVER_USER);
    }
  });

  test('keeps its user as long as its server may be running', async () => {
    const dataDir = join(makeFolder(), '.data');
    mkdirSync(dataDir, { mode: 0o711 });
    chmodSync(dataDir, 0o711);
    await makeCluster(dataDir);
    spawnSync('chown', ['-R', `${NOBODY}:${NOBODY}`, join(dataDir, 'postgres')]);
    writeFileSync(join(dataDir, 'postgres/postmaster.pid'), '');
    await new EmbeddedUser(dataDir, 'service').opened();
    expect(statSync(`/proc/${postmasterOf(dataDir)}`).uid).toBe(NOBODY);
  });
});

ofRoot("root's copy of PostgreSQL's programs (needs root on Linux)", () => {
  const start = (sharedFolder: string): EmbeddedUser =>
    new EmbeddedUser(makeFolder(), 'service', { environment: { SHARED_FOLDER: sharedFolder } });

  test('is made once, by one of two at once, readable for all; copies of other versions that nobody runs are removed', async () => {
    const shared = join(makeFolder(), 'cache/store');
    const running = join(shared, 'postgres-16.0.0/bin/postgres');
    for (const name of ['postgres-17.0.0', 'postgres-16.0.0']) {
      mkdirSync(join(shared, name, 'bin'), { recursive: true });
    }
    cpSync('/bin/sleep', running);
    const server = spawn(running, ['60']);
    const users = [start(shared), start(shared)];
    await Promise.all(users.map((user) => user.opened()));
    server.kill('SIGKILL');
    const [older, copy, ...others] = readdirSync(shared).sort();
    expect(older).toBe('postgres-16.0.0');
    expect(copy).toMatch(/^postgres-18\.[^/]*(?<!\.new-.*)$/);
    expect(others).toEqual([]);
    for (const { parentPath, name } of readdirSync(join(shared, copy!), {
      recursive: true,
      withFileTypes: true,
    })) {
      const { uid, mode } = statSync(join(parentPath, name));
      expect([uid, mode & 0o022, mode & 0o044]).toEqual([0, 0, 0o044]);
    }
  });

  test('is not used when others may write to it: one line says what to do', async () => {
    for (const spoil of [
      (folder: string) => chmodSync(folder, 0o777),
      (folder: string) => chownSync(folder, NOBODY, NOBODY),
      (folder: string) => {
        rmSync(folder, { recursive: true });
        symlinkSync(makeFolder(), folder);
      },
    ]) {
      const shared = join(makeFolder(), 'store');
      mkdirSync(shared);
      spoil(shared);
      const { error, expected } = await start(shared).rejected();
      expect(expected).toBe(true);
      expect(error).toMatch(/only root may write to: remove it, or set DATABASE_URL/);
    }
  });

  test('cannot be made: one line says what to do', async () => {
    const { error, expected } = await start('/proc/store').rejected();
    expect(expected).toBe(true);
    expect(error).toMatch(
      /^PostgreSQL does not run as root[^\n]*make \/proc\/store writable[^\n]*ordinary user[^\n]*DATABASE_URL/,
    );
  });
});
