import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  EmbeddedUser,
  endUsers,
  makeCluster,
  makeFolder,
  onLinux,
  postmasterOf,
  processesOf,
  query,
  removeFolders,
  until,
} from './embedded-user.js';

(onLinux ? describe : describe.skip)('starting the embedded database (Linux only)', () => {
  afterEach(endUsers);
  afterAll(removeFolders);

  let stopped: string;
  beforeAll(async () => {
    stopped = makeFolder();
    await makeCluster(stopped);
  });

  test('the first start makes a durable UTF-8 cluster with the database pets', async () => {
    const dataDir = join(makeFolder(), 'made/.data');
    const opened = await new EmbeddedUser(dataDir, 'service').opened();
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
    expect(statSync(join(dataDir, 'postgres')).mode & 0o777).toBe(0o700);
    expect(statSync(dataDir).mode & 0o066).toBe(0);
    expect(statSync(join(dataDir, 'postgres.log')).mode & 0o077).toBe(0);
  });

  test('a later start finds what the first one committed, and closing leaves no process', async () => {
    const dataDir = stopped;
    const first = new EmbeddedUser(dataDir, 'service');
    await query(await first.opened(), 'create table kept as select 42 as answer');
    expect(await first.close()).toBe(0);
    expect(processesOf(dataDir)).toEqual([]);
    const second = new EmbeddedUser(dataDir, 'service');
    expect(await query(await second.opened(), 'select answer from kept')).toEqual([{ answer: 42 }]);
  });

  test('the folder may have spaces, quotes, commas and letters of any language, and be given by a relative path and a symbolic link', async () => {
    const parent = makeFolder();
    mkdirSync(join(parent, `Țară "d" 'q', $HOME \\ 動物`));
    symlinkSync(`Țară "d" 'q', $HOME \\ 動物`, join(parent, 'link'));
    const service = new EmbeddedUser('link/.data', 'service', { cwd: parent });
    const opened = await service.opened();
    expect(opened.connection.host).toBe(
      join(parent, `Țară "d" 'q', $HOME \\ 動物`, '.data/postgres'),
    );
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    await service.close();
  });

  test('the socket of a folder whose path is too long lies in a private folder elsewhere', async () => {
    const dataDir = join(makeFolder(), 'long'.repeat(20), 'er'.repeat(20));
    const service = new EmbeddedUser(dataDir, 'service');
    const opened = await service.opened();
    expect(opened.connection.host).not.toContain(dataDir);
    expect(statSync(opened.connection.host).mode & 0o777).toBe(0o700);
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    // Found by a process that has other temporary files, too.
    const beside = await new EmbeddedUser(dataDir, 'command', {
      environment: { TMPDIR: makeFolder() },
    }).opened();
    expect(beside.connection).toEqual(opened.connection);
    await endUsers();
    expect(existsSync(opened.connection.host)).toBe(false);
  });

  test('PG* variables, locales and options of Node in the environment change nothing', async () => {
    const environment = {
      PGDATA: '/nowhere',
      PGPORT: '1',
      PGHOST: 'nowhere',
      PGSSLMODE: 'require',
      LC_ALL: 'xx_YY',
      LANG: 'xx',
      NODE_OPTIONS: '--no-warnings',
    };
    const opened = await new EmbeddedUser(stopped, 'service', { environment }).opened();
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('a first start killed within initdb does not stand in the way of the next, which removes its remains', async () => {
    const dataDir = makeFolder();
    const unfinished = (): string[] =>
      readdirSync(dataDir).filter((name) => name.startsWith('postgres.new-'));
    const killed = new EmbeddedUser(dataDir, 'service');
    killed.answer.catch(() => undefined);
    await until(() => unfinished().some((name) => existsSync(join(dataDir, name, 'base'))));
    await killed.kill();
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    await until(() => processesOf(dataDir).length === 0);
    await new EmbeddedUser(dataDir, 'service').opened();
    expect(unfinished()).toEqual([]);
  });

  test("a dead server's postmaster.pid and socket are removed, though their process number is in use again", async () => {
    const dataDir = stopped;
    const socket = join(dataDir, 'postgres/.s.PGSQL.5432');
    writeFileSync(
      join(dataDir, 'postgres/postmaster.pid'),
      `${process.pid}\n${dataDir}/postgres\n1700000000\n5432\n${dataDir}/postgres\n\n  1  2\nready   \n`,
    );
    writeFileSync(socket, '');
    writeFileSync(`${socket}.lock`, `${process.pid}\n`);
    await new EmbeddedUser(dataDir, 'service').opened();
    expect(postmasterOf(dataDir)).not.toBe(process.pid);
  });

  test('an empty postmaster.pid, left by a power cut, is removed', async () => {
    const dataDir = stopped;
    writeFileSync(join(dataDir, 'postgres/postmaster.pid'), '');
    await new EmbeddedUser(dataDir, 'service').opened();
  });

  test('a log that has become large is put aside', async () => {
    const dataDir = stopped;
    writeFileSync(join(dataDir, 'postgres.log'), 'x'.repeat(6_000_000));
    await new EmbeddedUser(dataDir, 'service').opened();
    expect(statSync(join(dataDir, 'postgres.log')).size).toBeLessThan(100_000);
    expect(statSync(join(dataDir, 'postgres.log.1')).size).toBe(6_000_000);
  });
});
