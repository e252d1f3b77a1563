import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  EmbeddedUser,
  endUsers,
  guardsOf,
  makeCluster,
  makeFolder,
  onLinux,
  type Opened,
  postmasterOf,
  processesOf,
  query,
  removeFolders,
  until,
} from '../harness/processes/embedded-user.js';

const ofLinux = onLinux ? describe : describe.skip;

afterAll(async () => {
  await endUsers();
  removeFolders();
});

// In this order: each test goes on with what the one before has left.
ofLinux('the embedded database, from its first start on (Linux only)', () => {
  const LETTERS = `Țară "d" 'q', $HOME \\ 動物`;
  let parent: string;
  let dataDir: string;
  let socket: string;

  describe('the first start', () => {
    let service: EmbeddedUser;
    let opened: Opened;
    beforeAll(async () => {
      parent = makeFolder();
      mkdirSync(join(parent, LETTERS));
      symlinkSync(LETTERS, join(parent, 'link'));
      dataDir = join(parent, LETTERS, 'made/.data');
      socket = join(dataDir, 'postgres/.s.PGSQL.5432');
      service = new EmbeddedUser('link/made/.data', 'service', { cwd: parent });
      opened = await service.opened();
    });

    test('the folder may have spaces, quotes, commas and letters of any language, and be given by a relative path and a symbolic link', () => {
      expect(opened.connection.host).toBe(join(dataDir, 'postgres'));
    });

    test('makes a durable UTF-8 cluster with the database pets', async () => {
      expect(opened.connection).toMatchObject({ user: 'pets', database: 'pets' });
      const settings = [
        'fsync',
        'synchronous_commit',
        'full_page_writes',
        'data_checksums',
        'server_encoding',
        'listen_addresses',
      ];
      const rows = await query(
        opened,
        `select ${settings.map((name) => `current_setting('${name}') as ${name}`).join()}, lower('É') as lower`,
      );
      expect(rows[0]).toEqual({
        fsync: 'on',
        synchronous_commit: 'on',
        full_page_writes: 'on',
        data_checksums: 'on',
        server_encoding: 'UTF8',
        listen_addresses: '',
        lower: 'é',
      });
    });

    test('lets nobody else look into what it makes', () => {
      expect(statSync(join(dataDir, 'postgres')).mode & 0o777).toBe(0o700);
      expect(statSync(dataDir).mode & 0o066).toBe(0);
      expect(statSync(join(dataDir, 'postgres.log')).mode & 0o077).toBe(0);
    });

    test('closing leaves no process', async () => {
      await query(opened, 'create table kept as select 42 as value');
      expect(await service.close()).toBe(0);
      expect(processesOf(dataDir)).toEqual([]);
    });
  });

  describe('a later start', () => {
    let opened: Opened;
    beforeAll(async () => {
      // As a server leaves them that died, and whose process number is in use again.
      writeFileSync(
        join(dataDir, 'postgres/postmaster.pid'),
        `${process.pid}\n${dataDir}/postgres\n1700000000\n5432\n${dataDir}/postgres\n\n  1  2\nready   \n`,
      );
      writeFileSync(socket, '');
      writeFileSync(`${socket}.lock`, `${process.pid}\n`);
      writeFileSync(join(dataDir, 'postgres.log'), 'x'.repeat(6_000_000));
      const environment = {
        PGDATA: '/nowhere',
        PGPORT: '1',
        PGHOST: 'nowhere',
        PGSSLMODE: 'require',
        LC_ALL: 'xx_YY',
        LANG: 'xx',
        NODE_OPTIONS: '--no-warnings',
        REDIS_URL: 'redis://:c0rrect-horse@127.0.0.1:1',
      };
      opened = await new EmbeddedUser(dataDir, 'service', { environment }).opened();
    });
    afterAll(endUsers);

    test('finds what the first one committed', async () => {
      expect(await query(opened, 'select value from kept')).toEqual([{ value: 42 }]);
    });

    test('heeds no PG* variables, locales and options of Node in the environment', () => {
      expect(opened.connection).toMatchObject({ host: join(dataDir, 'postgres'), port: 5432 });
    });

    test('the server and the guard get no variables of the environment that may hold a secret', async () => {
      const [guard] = await guardsOf(parent, 1);
      for (const pid of [guard!, postmasterOf(dataDir)]) {
        const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
          .split('\0')
          .map((variable) => variable.split('=')[0]!);
        expect(names).toContain('PATH');
        for (const name of names) {
          expect(['PATH', 'LD_LIBRARY_PATH', 'TMPDIR', 'LC_ALL', 'TZ', '']).toContain(name);
        }
      }
    });

    test("removes a dead server's postmaster.pid and socket, though their process number is in use again", () => {
      expect(postmasterOf(dataDir)).not.toBe(process.pid);
      expect(statSync(socket).isSocket()).toBe(true);
    });

    test('puts a log aside that has become large', () => {
      expect(statSync(join(dataDir, 'postgres.log')).size).toBeLessThan(100_000);
      expect(statSync(join(dataDir, 'postgres.log.1')).size).toBe(6_000_000);
    });
  });

  test('an empty postmaster.pid, left by a power cut, is removed', async () => {
    writeFileSync(join(dataDir, 'postgres/postmaster.pid'), '');
    await new EmbeddedUser(dataDir, 'service').opened();
    await endUsers();
  });
});

ofLinux('starting the embedded database (Linux only)', () => {
  afterEach(endUsers);

  test('the socket of a folder whose path is too long lies in a private folder elsewhere', async () => {
    const dataDir = join(makeFolder(), 'long'.repeat(20), 'er'.repeat(20));
    mkdirSync(dataDir, { recursive: true });
    await makeCluster(dataDir);
    const service = new EmbeddedUser(dataDir, 'service');
    const opened = await service.opened();
    expect(opened.connection.host).not.toContain(dataDir);
    expect(statSync(opened.connection.host).mode & 0o777).toBe(0o700);
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    // Found by a process that has other temporary files, too.
    const command = await new EmbeddedUser(dataDir, 'command', {
      environment: { TMPDIR: makeFolder() },
    }).opened();
    expect(command.connection).toEqual(opened.connection);
    await endUsers();
    expect(existsSync(opened.connection.host)).toBe(false);
  });

  test('a first start killed within initdb does not stand in the way of the next, which removes its remains', async () => {
    const dataDir = makeFolder();
    const unfinished = (): string[] =>
      readdirSync(dataDir).filter((name) => name.startsWith('postgres.new-'));
    const killed = new EmbeddedUser(dataDir, 'service');
    killed.response.catch(() => undefined);
    await until(() => unfinished().some((name) => existsSync(join(dataDir, name, 'base'))));
    await killed.kill();
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    await until(() => processesOf(dataDir).length === 0);
    await new EmbeddedUser(dataDir, 'service').opened();
    expect(unfinished()).toEqual([]);
  });
});
