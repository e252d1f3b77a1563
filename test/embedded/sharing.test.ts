import {
  EmbeddedUser,
  endUsers,
  makeCluster,
  makeFolder,
  onLinux,
  type Opened,
  postmasterOf,
  processesOf,
  query,
  removeFolders,
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

// In this order: each test continues with what the one before has left.
ofLinux('sharing a DATA_DIR (Linux only)', () => {
  let service: EmbeddedUser;
  let opened: Opened;
  let postmaster: number;

  test('a service waits until a command has ended, and starts the server again', async () => {
    const command = new EmbeddedUser(dataDir, 'command');
    const used = await command.opened();
    await query(used, 'create table filled as select generate_series(1, 200000)');
    postmaster = postmasterOf(dataDir);
    service = new EmbeddedUser(dataDir, 'service');
    await service.waiting;
    expect(await query(used, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await command.close()).toBe(0);
    opened = await service.opened();
    expect(postmasterOf(dataDir)).not.toBe(postmaster);
    postmaster = postmasterOf(dataDir);
    expect(await query(opened, 'select count(*)::int as rows from filled')).toEqual([
      { rows: 200_000 },
    ]);
  });

  test('a second service stops with one line that names the first', async () => {
    expect(await new EmbeddedUser(dataDir, 'service').rejected()).toBe(
      `another service (process ${service.process.pid}) already runs on ${dataDir}: stop it, give this one a DATA_DIR of its own, or set DATABASE_URL=postgres://…`,
    );
    expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('commands use the server of a service and do not stop it', async () => {
    const commands = [new EmbeddedUser(dataDir, 'command'), new EmbeddedUser(dataDir, 'command')];
    for (const command of commands)
      expect((await command.opened()).connection).toEqual(opened.connection);
    for (const command of commands) expect(await command.close()).toBe(0);
    expect(postmasterOf(dataDir)).toBe(postmaster);
  });

  test('the service stops the server, although a command uses it', async () => {
    const command = await new EmbeddedUser(dataDir, 'command').opened();
    const statement = query(command, 'select pg_sleep(60)').catch(
      (error: unknown) => (error as { code: string }).code,
    );
    await query(command, 'select 1');
    expect(await service.close()).toBe(0);
    expect(await statement).toBe('57P01');
    expect(processesOf(dataDir)).toEqual([]);
  });

  test('a service that starts while another one stops the server starts it again', async () => {
    const first = new EmbeddedUser(dataDir, 'service');
    await first.opened();
    const closed = first.close();
    const next = new EmbeddedUser(dataDir, 'service');
    expect(await query(await next.opened(), 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await closed).toBe(0);
    expect(await next.close()).toBe(0);
    expect(processesOf(dataDir)).toEqual([]);
  });
});

ofLinux('first starts at once (Linux only)', () => {
  test('of two services, one runs and the other one is rejected', async () => {
    const fresh = makeFolder();
    const services = [new EmbeddedUser(fresh, 'service'), new EmbeddedUser(fresh, 'service')];
    const results = await Promise.allSettled(services.map((service) => service.opened()));
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const { reason } = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
    expect(String(reason)).toContain('another service');
  });

  test('two commands share one server', async () => {
    const fresh = makeFolder();
    const commands = [new EmbeddedUser(fresh, 'command'), new EmbeddedUser(fresh, 'command')];
    const all = await Promise.all(commands.map((command) => command.opened()));
    for (const opened of all) expect(await query(opened, 'select 1 as one')).toEqual([{ one: 1 }]);
    await endUsers();
    expect(processesOf(fresh)).toEqual([]);
  });
});
