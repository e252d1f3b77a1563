import {
  EmbeddedUser,
  endUsers,
  guardsOf,
  makeCluster,
  makeFolder,
  onLinux,
  postmasterOf,
  processesOf,
  query,
  removeFolders,
  until,
} from './embedded-user.js';

(onLinux ? describe : describe.skip)('sharing the embedded database (Linux only)', () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = makeFolder();
    await makeCluster(dataDir);
  });
  afterEach(endUsers);
  afterAll(removeFolders);

  test('a second service is refused in one line that names the first', async () => {
    const first = new EmbeddedUser(dataDir, 'service');
    const opened = await first.opened();
    const { error, expected } = await new EmbeddedUser(dataDir, 'service').refused();
    expect(expected).toBe(true);
    expect(error).toBe(
      `another service (process ${first.process.pid}) already runs on ${dataDir}: stop it, give this one a DATA_DIR of its own, or set DATABASE_URL=postgres://…`,
    );
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    await guardsOf(dataDir, 1);
  });

  test('commands beside a service use its server, and leave it running', async () => {
    const service = await new EmbeddedUser(dataDir, 'service').opened();
    const postmaster = postmasterOf(dataDir);
    const commands = [new EmbeddedUser(dataDir, 'command'), new EmbeddedUser(dataDir, 'command')];
    for (const command of commands)
      expect((await command.opened()).connection).toEqual(service.connection);
    for (const command of commands) expect(await command.close()).toBe(0);
    expect(postmasterOf(dataDir)).toBe(postmaster);
    expect(await query(service, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('a service keeps the server that a command started, and stops it in its turn', async () => {
    const command = new EmbeddedUser(dataDir, 'command');
    await command.opened();
    const postmaster = postmasterOf(dataDir);
    const service = new EmbeddedUser(dataDir, 'service');
    const opened = await service.opened();
    await command.close();
    expect(postmasterOf(dataDir)).toBe(postmaster);
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    await service.close();
    expect(processesOf(dataDir)).toEqual([]);
  });

  test('three that make the first start at once share one server, and the last to leave stops it', async () => {
    const fresh = makeFolder();
    const users = [
      new EmbeddedUser(fresh, 'command'),
      new EmbeddedUser(fresh, 'service'),
      new EmbeddedUser(fresh, 'command'),
    ];
    await Promise.all(users.map((user) => user.opened()));
    await guardsOf(fresh, 3);
    await Promise.all(users.map((user) => user.close()));
    expect(processesOf(fresh)).toEqual([]);
  });

  test('a service that starts while a command stops the server waits and starts it again', async () => {
    const command = new EmbeddedUser(dataDir, 'command');
    await query(await command.opened(), 'create table filled as select generate_series(1, 200000)');
    const closing = command.close();
    const services: EmbeddedUser[] = [];
    for (let count = 0; count < 2; count += 1) {
      const service = new EmbeddedUser(dataDir, 'service');
      services.push(service);
      expect(
        await query(await service.opened(), 'select count(*)::int as rows from filled'),
      ).toEqual([{ rows: 200_000 }]);
      // The next one starts in the middle of this one's end.
      void service.close();
    }
    await closing;
    await Promise.all(services.map((service) => until(() => !service.running)));
    expect(processesOf(dataDir)).toEqual([]);
  });

  test('a service that starts right after another was killed takes its place', async () => {
    const first = new EmbeddedUser(dataDir, 'service');
    await first.opened();
    const killed = first.kill();
    await new EmbeddedUser(dataDir, 'service').opened();
    await killed;
  });
});
