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

let dataDir: string;
beforeAll(async () => {
  if (!onLinux) return;
  dataDir = makeFolder();
  await makeCluster(dataDir);
});
afterAll(async () => {
  await endUsers();
  removeFolders();
});

// In this order: each test goes on with what the one before has left.
ofLinux('a service with other users of its server (Linux only)', () => {
  let service: EmbeddedUser;
  let opened: Opened;
  let postmaster: number;

  test('a service keeps the server that a command started', async () => {
    const command = new EmbeddedUser(dataDir, 'command');
    await command.opened();
    postmaster = postmasterOf(dataDir);
    service = new EmbeddedUser(dataDir, 'service');
    opened = await service.opened();
    await command.close();
    expect(postmasterOf(dataDir)).toBe(postmaster);
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('a second service fails with one line that names the first', async () => {
    const { error, expected } = await new EmbeddedUser(dataDir, 'service').rejected();
    expect(expected).toBe(true);
    expect(error).toBe(
      `another service (process ${service.process.pid}) already runs on ${dataDir}: stop it, give this one a DATA_DIR of its own, or set DATABASE_URL=postgres://…`,
    );
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    await guardsOf(dataDir, 1);
  });

  test('commands use the server of a service and do not stop it', async () => {
    const commands = [new EmbeddedUser(dataDir, 'command'), new EmbeddedUser(dataDir, 'command')];
    for (const command of commands)
      expect((await command.opened()).connection).toEqual(opened.connection);
    for (const command of commands) expect(await command.close()).toBe(0);
    expect(postmasterOf(dataDir)).toBe(postmaster);
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('a service that starts right after another was killed takes its place', async () => {
    const killed = service.kill();
    service = new EmbeddedUser(dataDir, 'service');
    await service.opened();
    await killed;
  });

  test('the service that is left stops the server', async () => {
    await service.close();
    expect(processesOf(dataDir)).toEqual([]);
  });
});

ofLinux('starting and stopping at once (Linux only)', () => {
  afterEach(endUsers);

  test('two that make the first start at once share one server, and the last to leave stops it', async () => {
    const fresh = makeFolder();
    const users = [new EmbeddedUser(fresh, 'command'), new EmbeddedUser(fresh, 'service')];
    await Promise.all(users.map((user) => user.opened()));
    await guardsOf(fresh, 2);
    await Promise.all(users.map((user) => user.close()));
    expect(processesOf(fresh)).toEqual([]);
  });

  test('of two commands without a service, the first to end leaves the server to the other', async () => {
    const commands = [
      new EmbeddedUser(dataDir, 'command'),
      new EmbeddedUser(dataDir, 'command'),
    ] as const;
    const [opened] = await Promise.all(commands.map((command) => command.opened()));
    const postmaster = postmasterOf(dataDir);
    expect(await commands[1].close()).toBe(0);
    expect(postmasterOf(dataDir)).toBe(postmaster);
    expect(opened && (await query(opened, 'select 1 as one'))).toEqual([{ one: 1 }]);
    expect(await commands[0].close()).toBe(0);
    expect(processesOf(dataDir)).toEqual([]);
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
});
