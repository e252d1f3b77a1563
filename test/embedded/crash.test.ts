import { once } from 'node:events';
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
import { startBuiltService } from '../harness/service/service.js';

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
(onLinux ? describe : describe.skip)('after kill -9 (Linux only)', () => {
  let service: EmbeddedUser;
  let opened: Opened;
  let postmaster: number;

  test('of the service, the next one uses the server that is left', async () => {
    const killed = new EmbeddedUser(dataDir, 'service');
    await query(await killed.opened(), 'create table kept as select 42 as value');
    postmaster = postmasterOf(dataDir);
    const ended = killed.kill();
    // At once, as a supervisor starts it.
    service = new EmbeddedUser(dataDir, 'service');
    opened = await service.opened();
    await ended;
    expect(postmasterOf(dataDir)).toBe(postmaster);
    expect(await query(opened, 'select value from kept')).toEqual([{ value: 42 }]);
  });

  test('of the service and PostgreSQL, the next start recovers what was committed', async () => {
    await query(opened, 'insert into kept values (43)');
    await service.kill();
    process.kill(postmaster, 'SIGKILL');
    service = new EmbeddedUser(dataDir, 'service');
    opened = await service.opened();
    expect(postmasterOf(dataDir)).not.toBe(postmaster);
    expect(await query(opened, 'select value from kept')).toEqual([{ value: 42 }, { value: 43 }]);
  });

  test('of a command, the next start ends the server with its own end', async () => {
    expect(await service.close()).toBe(0);
    const command = new EmbeddedUser(dataDir, 'command');
    await command.opened();
    await command.kill();
    const next = new EmbeddedUser(dataDir, 'command');
    await next.opened();
    expect(await next.close()).toBe(0);
    expect(processesOf(dataDir)).toEqual([]);
  });

  test.each(['PostgreSQL', "PostgreSQL's process for the lock"])(
    'of %s, the service logs it and ends with exit code 1',
    async (which) => {
      const running = await startBuiltService({ DATA_DIR: dataDir });
      opened = await new EmbeddedUser(dataDir, 'command').opened();
      const [lock] = await query(opened, "select pid from pg_locks where locktype = 'advisory'");
      process.kill(which === 'PostgreSQL' ? postmasterOf(dataDir) : Number(lock!.pid), 'SIGKILL');
      const [code] = (await once(running.process, 'close')) as [number | null];
      const fatal = running.logs().find(({ msg }) => msg === 'fatal error');
      expect({ code, fatal }).toMatchObject({
        code: 1,
        fatal: { err: { message: expect.stringContaining('the embedded PostgreSQL has ended') } },
      });
      await endUsers();
      expect(processesOf(dataDir)).toEqual([]);
    },
  );

  test('in the middle of a start, the next one works', async () => {
    for (const delayMs of [60, 110, 160, 210]) {
      const killed = new EmbeddedUser(dataDir, 'service');
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await killed.kill();
    }
    service = new EmbeddedUser(dataDir, 'service');
    expect(await query(await service.opened(), 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});
