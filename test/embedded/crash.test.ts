import { existsSync } from 'node:fs';
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

const nothingLeft = (): Promise<void> => until(() => processesOf(dataDir).length === 0);

// In this order: each test goes on with what the one before has left.
ofLinux('a service and its guard (Linux only)', () => {
  let service: EmbeddedUser;
  let opened: Opened;

  test('a guard that is killed is replaced', async () => {
    service = new EmbeddedUser(dataDir, 'service');
    opened = await service.opened();
    const [guard] = await guardsOf(dataDir);
    process.kill(guard!, 'SIGKILL');
    await until(() => !existsSync(`/proc/${guard}`));
    await guardsOf(dataDir, 1);
  });

  test("the guard does not end on a terminal's or an operator's signals", async () => {
    const [guard] = await guardsOf(dataDir);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.kill(guard!, signal);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await guardsOf(dataDir)).toEqual([guard]);
  });

  test('kill -9 of the service leaves neither server nor guard, whatever its connections were doing', async () => {
    const busy = query(opened, 'select pg_sleep(60)').catch(() => 'ended');
    await service.kill();
    await nothingLeft();
    expect(await busy).toBe('ended');
  });
});

ofLinux('kill -9 of several users (Linux only)', () => {
  test('in the middle of a start leaves nothing', async () => {
    for (const delayMs of [60, 110, 160]) {
      const service = new EmbeddedUser(dataDir, 'service');
      service.response.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await service.kill();
    }
    await nothingLeft();
  });

  test('of a service and a command at once leaves nothing', async () => {
    const users = [new EmbeddedUser(dataDir, 'service'), new EmbeddedUser(dataDir, 'command')];
    await Promise.all(users.map((user) => user.opened()));
    await Promise.all(users.map((user) => user.kill()));
    await nothingLeft();
  });
});

// In this order: each test goes on with what the one before has left.
ofLinux('a server that lost its users, or that they lost (Linux only)', () => {
  let service: EmbeddedUser;
  let opened: Opened;

  test('after kill -9 of a service and its guard together, the next one attaches and guards the server again', async () => {
    const first = new EmbeddedUser(dataDir, 'service');
    await first.opened();
    const postmaster = postmasterOf(dataDir);
    for (const guard of await guardsOf(dataDir)) process.kill(guard, 'SIGKILL');
    await first.kill();
    service = new EmbeddedUser(dataDir, 'service');
    opened = await service.opened();
    expect(postmasterOf(dataDir)).toBe(postmaster);
    await guardsOf(dataDir, 1);
  });

  test('a server killed together with its service and guard is recovered by the next start', async () => {
    await query(opened, 'create table kept as select 42 as value');
    const busy = query(opened, 'select pg_sleep(60)').catch(() => 'ended');
    for (const guard of await guardsOf(dataDir)) process.kill(guard, 'SIGKILL');
    await service.kill();
    process.kill(postmasterOf(dataDir), 'SIGKILL');
    service = new EmbeddedUser(dataDir, 'service');
    opened = await service.opened();
    expect(await query(opened, 'select value from kept')).toEqual([{ value: 42 }]);
    expect(await busy).toBe('ended');
  });

  test('a server that is killed under its users comes back, with what was committed and the place of its service', async () => {
    await query(opened, 'create table kept_after_crash as select 42 as value');
    const postmaster = postmasterOf(dataDir);
    process.kill(postmaster, 'SIGKILL');
    await until(() =>
      query(opened, 'select value from kept_after_crash').then(
        () => true,
        () => false,
      ),
    );
    expect(postmasterOf(dataDir)).not.toBe(postmaster);
    expect((await new EmbeddedUser(dataDir, 'service').rejected()).error).toContain(
      `process ${service.process.pid}`,
    );
    // That one's guard would stop the server in place of the service's.
    await guardsOf(dataDir, 1);
    expect(await service.close()).toBe(0);
    expect(processesOf(dataDir)).toEqual([]);
  });
});
