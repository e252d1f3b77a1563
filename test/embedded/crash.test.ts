import { existsSync } from 'node:fs';
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

(onLinux ? describe : describe.skip)('crashes around the embedded database (Linux only)', () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = makeFolder();
    await makeCluster(dataDir);
  });
  afterEach(endUsers);
  afterAll(removeFolders);

  test('kill -9 of a service leaves neither server nor guard, whatever its connections were doing', async () => {
    const service = new EmbeddedUser(dataDir, 'service');
    const busy = query(await service.opened(), 'select pg_sleep(60)').catch(() => 'ended');
    await service.kill();
    await until(() => processesOf(dataDir).length === 0);
    expect(await busy).toBe('ended');
  });

  test('kill -9 in the middle of a start leaves nothing either', async () => {
    for (const delayMs of [60, 100, 130, 160]) {
      const service = new EmbeddedUser(dataDir, 'service');
      service.answer.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await service.kill();
    }
    await until(() => processesOf(dataDir).length === 0);
  });

  test('kill -9 of two users at once leaves nothing', async () => {
    const users = [
      new EmbeddedUser(dataDir, 'service'),
      new EmbeddedUser(dataDir, 'command'),
      new EmbeddedUser(dataDir, 'command'),
    ];
    await Promise.all(users.map((user) => user.opened()));
    await Promise.all(users.map((user) => user.kill()));
    await until(() => processesOf(dataDir).length === 0);
  });

  test('a guard that is killed is replaced', async () => {
    const service = new EmbeddedUser(dataDir, 'service');
    await service.opened();
    const [guard] = await guardsOf(dataDir);
    process.kill(guard!, 'SIGKILL');
    await until(() => !existsSync(`/proc/${guard}`));
    await guardsOf(dataDir, 1);
    await service.kill();
    await until(() => processesOf(dataDir).length === 0);
  });

  test("the guard does not end on a terminal's or an operator's signals", async () => {
    const service = new EmbeddedUser(dataDir, 'service');
    await service.opened();
    const [guard] = await guardsOf(dataDir);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.kill(guard!, signal);
    await service.kill();
    await until(() => processesOf(dataDir).length === 0);
  });

  test('after kill -9 of a service and its guard together, the next one attaches and guards the server again', async () => {
    const first = new EmbeddedUser(dataDir, 'service');
    await first.opened();
    const postmaster = postmasterOf(dataDir);
    for (const guard of await guardsOf(dataDir)) process.kill(guard, 'SIGKILL');
    await first.kill();
    const second = new EmbeddedUser(dataDir, 'service');
    await second.opened();
    expect(postmasterOf(dataDir)).toBe(postmaster);
    await second.kill();
    await until(() => processesOf(dataDir).length === 0);
  });

  test('a server that is killed under its users comes back, with what was committed and the place of its service', async () => {
    const service = new EmbeddedUser(dataDir, 'service');
    const opened = await service.opened();
    await query(opened, 'create table kept_after_crash as select 42 as answer');
    const postmaster = postmasterOf(dataDir);
    process.kill(postmaster, 'SIGKILL');
    await until(() =>
      query(opened, 'select answer from kept_after_crash').then(
        () => true,
        () => false,
      ),
    );
    expect(postmasterOf(dataDir)).not.toBe(postmaster);
    expect((await new EmbeddedUser(dataDir, 'service').refused()).error).toContain(
      `process ${service.process.pid}`,
    );
    expect(await service.close()).toBe(0);
    expect(processesOf(dataDir)).toEqual([]);
  });

  test('a server killed together with its service and guard is recovered by the next start', async () => {
    const first = new EmbeddedUser(dataDir, 'service');
    const opened = await first.opened();
    await query(opened, 'create table kept as select 42 as answer');
    const busy = query(opened, 'select pg_sleep(60)').catch(() => 'ended');
    for (const guard of await guardsOf(dataDir)) process.kill(guard, 'SIGKILL');
    await first.kill();
    process.kill(postmasterOf(dataDir), 'SIGKILL');
    const second = new EmbeddedUser(dataDir, 'service');
    expect(await query(await second.opened(), 'select answer from kept')).toEqual([{ answer: 42 }]);
    expect(await busy).toBe('ended');
  });
});
