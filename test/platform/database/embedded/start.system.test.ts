import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { PRODUCT } from '../../../../src/product.js';
import {
  asRoot,
  copyOfBuild,
  EmbeddedUser,
  endUsers,
  makeCluster,
  makeFolder,
  onLinux,
  type Opened,
  postmasterOf,
  processesOf,
  query,
} from '../../../harness/processes/embedded-user.js';
import { NODE } from '../../../harness/processes/node.js';
import { until } from '../../../harness/run/until.js';
import { spawnBuiltService, startBuiltService } from '../../../harness/service/service.js';

const ofLinux = onLinux ? describe : describe.skip;

const unfinished = (dataDir: string): string[] =>
  fs.readdirSync(dataDir).filter((name) => name.startsWith('postgres.new-'));

/** Waits until initdb has begun to write. */
const creation = (dataDir: string): Promise<void> =>
  until(
    () =>
      fs.existsSync(dataDir) &&
      unfinished(dataDir).some((name) => fs.existsSync(join(dataDir, name, 'base'))),
  );

// In this order: each test continues with what the one before has left.
ofLinux('the embedded database, from its first start on (Linux only)', () => {
  const LETTERS = `Țară "d" 'q', $HOME \\ 動物`;
  let dataDir: string;
  let service: EmbeddedUser;
  let opened: Opened;

  test('a first start creates a durable cluster, with any letters in a relative path', async () => {
    const parent = makeFolder();
    fs.mkdirSync(join(parent, LETTERS));
    fs.symlinkSync(LETTERS, join(parent, 'link'));
    dataDir = join(parent, LETTERS, 'made/.data');
    service = new EmbeddedUser('link/made/.data', 'service', { cwd: parent });
    opened = await service.opened();
    expect(opened.connection).toMatchObject({
      host: join(dataDir, 'postgres'),
      database: PRODUCT.database,
    });
    const settings = ['fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums'];
    const shown = [...settings, 'server_encoding', 'listen_addresses'];
    const columns = shown.map((name) => `current_setting('${name}') as ${name}`).join();
    expect((await query(opened, `select ${columns}, lower('É') as lower`))[0]).toEqual({
      ...Object.fromEntries(settings.map((name) => [name, 'on'])),
      server_encoding: 'UTF8',
      listen_addresses: '',
      lower: 'é',
    });
  });

  test('only its owner can read the files and open the socket', () => {
    const mode = (name: string): number => fs.statSync(join(dataDir, name)).mode & 0o777;
    expect(['', 'postgres', 'postgres/base'].map(mode)).toEqual([0o700, 0o700, 0o700]);
    const files = ['postgres/.s.PGSQL.5432', 'postgres/server.log', 'postgres/pg_hba.conf'];
    expect(files.map(mode)).toEqual([0o600, 0o600, 0o600]);
  });

  test('a later start ignores the environment, and passes no secret of it to the server', async () => {
    await query(opened, 'create table kept as select 42 as value');
    expect(await service.close()).toBe(0);
    const environment = {
      PGDATA: '/nowhere',
      PGPORT: '1',
      PGHOST: 'nowhere',
      PGSSLMODE: 'require',
      LC_ALL: 'xx_YY',
      LANG: 'xx',
      REDIS_URL: 'redis://:c0rrect-horse@127.0.0.1:1',
    };
    service = new EmbeddedUser(dataDir, 'service', { environment });
    opened = await service.opened();
    expect(await query(opened, 'select value from kept')).toEqual([{ value: 42 }]);
    const variables = fs.readFileSync(`/proc/${postmasterOf(dataDir)}/environ`, 'utf8').split('\0');
    const names = variables.map((variable) => variable.split('=')[0]);
    // pg_ctl adds some.
    const added = 'PG_GRANDPARENT_PID PWD PGDATA PGSYSCONFDIR';
    const allowed = `PATH LD_LIBRARY_PATH LC_ALL TZ ${added}`.split(' ');
    expect(names.filter((name) => name && !allowed.includes(name))).toEqual([]);
    expect(variables.join()).not.toContain('nowhere');
  });
});

ofLinux('starting the embedded database (Linux only)', () => {
  afterEach(endUsers);

  test('the path may be longer than that of a socket', async () => {
    const dataDir = join(makeFolder(), 'long'.repeat(20), 'er'.repeat(20));
    fs.mkdirSync(dataDir, { recursive: true });
    await makeCluster(dataDir);
    const service = new EmbeddedUser(dataDir, 'service');
    const { host } = (await service.opened()).connection;
    expect(host).toMatch(/^\/proc\/self\/fd\/\d+$/);
    await service.close();
    expect(processesOf(dataDir)).toEqual([]);
  });

  test('the server stops although the system allows no further process', async () => {
    const dataDir = makeFolder(0o700);
    await makeCluster(dataDir);
    // The limit of processes does not apply to root.
    const user = asRoot ? { uid: 65_534, gid: 65_534 } : {};
    if (asRoot) fs.chownSync(dataDir, user.uid!, user.gid!);
    const service = new EmbeddedUser(dataDir, 'service', user);
    await service.opened();
    execFileSync('prlimit', ['--pid', String(service.process.pid), '--nproc=1:1'], user);
    await service.close();
    expect(processesOf(dataDir)).toEqual([]);
  });

  test('a first start that is killed leaves nothing that prevents the next one', async () => {
    const dataDir = makeFolder();
    const killed = new EmbeddedUser(dataDir, 'service');
    await creation(dataDir);
    await killed.kill();
    expect(fs.existsSync(join(dataDir, 'postgres'))).toBe(false);
    // As an earlier release leaves it.
    fs.mkdirSync(join(dataDir, 'postgres.new-Ab12Cd/base'), { recursive: true });
    await until(() => processesOf(dataDir).length === 0);
    expect(unfinished(dataDir)).toHaveLength(2);
    await new EmbeddedUser(dataDir, 'service').opened();
    expect(fs.readdirSync(dataDir)).toEqual(['postgres']);
  });

  test('of two first starts at once, the slower one uses the cluster of the faster one', async () => {
    const dataDir = makeFolder();
    const slow = new EmbeddedUser(dataDir, 'command');
    await creation(dataDir);
    slow.process.kill('SIGSTOP');
    const { connection } = await new EmbeddedUser(dataDir, 'command').opened();
    slow.process.kill('SIGCONT');
    expect((await slow.opened()).connection).toEqual(connection);
    expect(fs.readdirSync(dataDir)).toEqual(['postgres']);
  });

  // demo.system.test.ts stops one with SIGTERM.
  test('a second signal ends the service, and stops its database', async () => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    const service = await startBuiltService({ DATA_DIR: dataDir, SHUTDOWN_DELAY_SECONDS: '600' });
    const closed = once(service.process, 'close');
    for (const signal of ['SIGHUP', 'SIGTERM'] as const) {
      service.process.kill(signal);
      await service.waitForLog(({ msg }) => msg === 'stopping');
    }
    expect(await closed).toEqual([143, null]);
    expect(processesOf(dataDir)).toEqual([]);
    const log = fs.readFileSync(join(dataDir, 'postgres/server.log'), 'utf8');
    expect(log).toMatch(/database system is shut down\n$/);
  });

  test.each([
    ['Ctrl-C', ['SIGINT'], [130]],
    ['SIGHUP and another signal', ['SIGHUP', 'SIGTERM'], [129, 143]],
  ] as const)(
    '%s while the database is created stops the service',
    async (_, signals, expected) => {
      const dataDir = join(makeFolder(), '.data');
      // `setsid` makes it a group of processes, all of which a terminal interrupts.
      const command = ['setsid', ...NODE];
      const service = spawnBuiltService({ DATA_DIR: dataDir }, undefined, command);
      await creation(dataDir);
      const closed = once(service.process, 'close') as Promise<[number | null]>;
      for (const signal of signals) process.kill(-service.process.pid!, signal);
      const [code] = await closed;
      expect(expected).toContain(code);
      expect(service.logs().at(-1)?.msg).toBe('stopped');
      expect(fs.readdirSync(dataDir)).toEqual([]);
      expect(processesOf(dataDir)).toEqual([]);
    },
  );

  test('one line says that the package with the binaries is not installed', async () => {
    const checkout = makeFolder();
    const dist = copyOfBuild(checkout);
    const service = new EmbeddedUser(join(checkout, '.data'), 'service', { dist });
    expect(await service.rejected()).toMatch(/is not installed: install without --omit=optional/);
  });

  test('the number of the server may belong to another process after a power cut', async () => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    const lock = join(dataDir, 'postgres/postmaster.pid');
    const other = spawn('sleep', ['60'], { uid: 65_534, gid: 65_534 });
    try {
      const content = `${other.pid}\n${join(dataDir, 'postgres')}\n1\n5432\n.\n`;
      fs.writeFileSync(lock, `${content}\n0 0\n`);
      fs.writeFileSync(join(dataDir, 'postgres/.s.PGSQL.5432.lock'), content, { mode: 0o666 });
      const user = new EmbeddedUser(dataDir, 'service');
      const opened = await user.opened();
      expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
      expect(await user.close()).toBe(0);
    } finally {
      other.kill();
    }
  });

  test.each(['postmaster.pid', '.s.PGSQL.5432.lock'])(
    'a full disk may have left %s empty',
    async (name) => {
      const dataDir = makeFolder();
      await makeCluster(dataDir);
      const lock = join(dataDir, 'postgres', name);
      fs.writeFileSync(lock, '');
      fs.utimesSync(lock, 0, 0);
      const user = new EmbeddedUser(dataDir, 'service');
      await user.opened();
      expect(await user.close()).toBe(0);
    },
  );

  test.each<readonly [title: string, change: (cluster: string) => void, remedy: string]>([
    [
      'of an earlier version of PostgreSQL',
      (cluster) => fs.writeFileSync(join(cluster, 'PG_VERSION'), '17\n'),
      'run that release, and copy the data to a server with `db copy-embedded`',
    ],
    [
      'that its group can write',
      (cluster) => fs.chmodSync(cluster, 0o770),
      'run `chmod 700` on its folder postgres',
    ],
    ...(asRoot
      ? [
          [
            'that root has copied for itself',
            (cluster: string) => void execFileSync('chown', ['-R', 'root:root', cluster]),
            'run `chown -R` on its folder postgres',
          ] as const,
        ]
      : []),
    [
      'with a broken configuration',
      (cluster) => fs.appendFileSync(join(cluster, 'postgresql.conf'), 'nonsense = 1\n'),
      'correct this, and keep the folder',
    ],
  ])('one line says what to do about data %s', async (_title, change, remedy) => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    const cluster = join(dataDir, 'postgres');
    change(cluster);
    expect(await new EmbeddedUser(dataDir, 'service').rejected()).toContain(remedy);
  });

  test('one line says what to do without an entry of the user', async () => {
    const dataDir = makeFolder(0o777);
    const rejected = await new EmbeddedUser(join(dataDir, 'new'), 'service', {
      uid: 61_234,
    }).rejected();
    expect(rejected).toContain('add an entry for the user of this process to /etc/passwd');
  });

  test.each([
    ['rejects connections', 'local all all reject'],
    ['expects a password', 'local all all scram-sha-256'],
  ])('a server that starts but %s does not keep running', async (_title, rule) => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    fs.writeFileSync(join(dataDir, 'postgres/pg_hba.conf'), `${rule}\n`);
    expect(await new EmbeddedUser(dataDir, 'service').rejected()).toContain('cannot be used');
    expect(processesOf(dataDir)).toEqual([]);
  });

  test("one line has the reason of the server's log", async () => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    const settings = join(dataDir, 'postgres/postgresql.conf');
    fs.appendFileSync(settings, 'shared_preload_libraries = none\n');
    expect(await new EmbeddedUser(dataDir, 'service').rejected()).toMatch(
      /did not start \(FATAL: could not access file "none": No such file or directory; log: .*server\.log\)/,
    );
  });
});
