import { until } from '../../../harness/run/until.js';
import { once } from 'node:events';
import { hostname } from 'node:os';
import * as embedded from '../../../harness/processes/embedded-user.js';
import { startBuiltService } from '../../../harness/service/service.js';

const { EmbeddedUser, endUsers, onLinux, postmasterOf, processesOf, query } = embedded;

// In this order: each test continues with what the one before has left.
(onLinux ? describe : describe.skip)('processes that share a DATA_DIR (Linux only)', () => {
  let dataDir: string;
  let service: embedded.EmbeddedUser;
  let opened: embedded.Opened;
  let postmaster: number;
  beforeAll(async () => {
    dataDir = embedded.makeFolder();
    await embedded.makeCluster(dataDir);
  });
  const command = () => new EmbeddedUser(dataDir, 'command');
  const start = async (): Promise<void> => {
    service = new EmbeddedUser(dataDir, 'service');
    opened = await service.opened();
  };
  const kept = () => query(opened, 'select value from kept order by value');

  test('two commands that start at once share a server', async () => {
    const commands = [command(), command()];
    const all = await Promise.all(commands.map((each) => each.opened()));
    await query(all[0]!, 'create table kept as select 42 as value');
    for (opened of all) expect(await kept()).toEqual([{ value: 42 }]);
    await endUsers();
    expect(processesOf(dataDir)).toEqual([]);
  });

  test('a service waits until a command has ended, and starts the server again', async () => {
    const running = command();
    await running.opened();
    postmaster = postmasterOf(dataDir);
    const waiting = new EmbeddedUser(dataDir, 'service');
    await waiting.waiting;
    expect(await running.close()).toBe(0);
    opened = await waiting.opened();
    service = waiting;
    expect(postmasterOf(dataDir)).not.toBe(postmaster);
    expect(await kept()).toEqual([{ value: 42 }]);
  });

  test('a second service stops with one line that names the first', async () => {
    expect(await new EmbeddedUser(dataDir, 'service').rejected()).toBe(
      `another service (process ${service.process.pid} on ${hostname()}) already runs on ${dataDir}: stop it, give this one a DATA_DIR of its own, or set DATABASE_URL=postgres://…`,
    );
    expect(await kept()).toEqual([{ value: 42 }]);
  });

  test('a command uses the server of a service, which stops it nevertheless', async () => {
    postmaster = postmasterOf(dataDir);
    const ended = command();
    expect((await ended.opened()).connection).toEqual(opened.connection);
    expect(await ended.close()).toBe(0);
    expect(postmasterOf(dataDir)).toBe(postmaster);
    const used = await command().opened();
    const statement = query(used, 'select pg_sleep(60)').catch(
      (error: unknown) => (error as { code: string }).code,
    );
    const running = `select from pg_stat_activity where state = 'active' and query = 'select pg_sleep(60)'`;
    await until(async () => (await query(used, running)).length > 0);
    const closed = service.close();
    // Another one that starts while the server is being stopped starts it again.
    await start();
    expect(await closed).toBe(0);
    expect(await statement).toBe('57P01');
  });

  test('after kill -9 of the service, the next one uses the server that is left', async () => {
    postmaster = postmasterOf(dataDir);
    const ended = service.kill();
    // At once, as a supervisor starts it.
    await start();
    await ended;
    expect(postmasterOf(dataDir)).toBe(postmaster);
  });

  test('after kill -9 of the service and PostgreSQL, the next start recovers what was committed', async () => {
    await query(opened, 'insert into kept values (43)');
    await service.kill();
    process.kill(postmaster, 'SIGKILL');
    await start();
    expect(postmasterOf(dataDir)).not.toBe(postmaster);
    expect(await kept()).toEqual([{ value: 42 }, { value: 43 }]);
    expect(await service.close()).toBe(0);
  });

  /** PostgreSQL may need a moment to notice that a process has been killed. */
  const untilNoticed = (used: embedded.Opened, { process }: embedded.EmbeddedUser) => {
    const left = `select from pg_stat_activity where application_name like 'command ${process.pid} %'`;
    return until(async () => (await query(used, left)).length === 0);
  };

  test('after kill -9 of a command, the next start ends the server with its own end', async () => {
    const killed = command();
    await killed.opened();
    await killed.kill();
    const next = command();
    await untilNoticed(await next.opened(), killed);
    expect(await next.close()).toBe(0);
    expect(processesOf(dataDir)).toEqual([]);
  });

  test('after kill -9 of a command, another one that uses its server ends it with its own end', async () => {
    const killed = command();
    await killed.opened();
    const other = command();
    const used = await other.opened();
    await killed.kill();
    await untilNoticed(used, killed);
    expect(await other.close()).toBe(0);
    expect(processesOf(dataDir)).toEqual([]);
  });

  test('of two services that start at once, one runs and the other one is rejected', async () => {
    const services = [1, 2].map(() => new EmbeddedUser(dataDir, 'service'));
    const results = await Promise.allSettled(services.map((each) => each.opened()));
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const { reason } = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
    expect(String(reason)).toContain('another service');
    await endUsers();
  });

  test('after kill -9 in the middle of a start, the next one works', async () => {
    for (const delayMs of [60, 160]) {
      const killed = new EmbeddedUser(dataDir, 'service');
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await killed.kill();
    }
    await start();
    expect(await kept()).toHaveLength(2);
    expect(await service.close()).toBe(0);
  });

  test('the server starts, and the service writes, although the role is set to read-only', async () => {
    await start();
    const { user } = opened.connection as { user: string };
    await query(opened, `alter role ${user} set default_transaction_read_only = on`);
    expect(await service.close()).toBe(0);
    await start();
    expect(await service.close()).toBe(0);
  });

  test('after kill -9 of PostgreSQL, the service logs it and ends with exit code 1', async () => {
    const running = await startBuiltService({ DATA_DIR: dataDir, SHUTDOWN_GRACE_SECONDS: '0.5' });
    process.kill(postmasterOf(dataDir), 'SIGKILL');
    const [code] = (await once(running.process, 'close')) as [number | null];
    const fatal = running.logs().find(({ msg }) => msg === 'fatal error');
    expect({ code, fatal }).toMatchObject({
      code: 1,
      fatal: { err: { message: expect.stringContaining('the embedded PostgreSQL has ended') } },
    });
    await endUsers();
    expect(processesOf(dataDir)).toEqual([]);
  });
});

const inContainers = onLinux && embedded.asRoot ? describe : describe.skip;

inContainers('containers that share a DATA_DIR (needs root on Linux)', () => {
  const CONTAINER = ['unshare', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'];

  test('of two that start at once, one runs and the other one is rejected, also after a power cut', async () => {
    const dataDir = embedded.makeFolder();
    await embedded.makeCluster(dataDir);
    for (let start = 1; start <= 3; start++) {
      const services = [1, 2].map(
        () => new EmbeddedUser(dataDir, 'service', { command: CONTAINER }),
      );
      const results = await Promise.allSettled(services.map((each) => each.opened()));
      expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const rejected = results.find(({ status }) => status === 'rejected');
      const { reason } = rejected as PromiseRejectedResult;
      expect(String(reason)).toMatch(/another service \(process \d+ on .+\) already runs on/);
      const servers = processesOf(dataDir).filter(({ command }) => command.includes(' -D '));
      expect(servers).toHaveLength(1);
      for (const service of services) await service.kill();
      await until(() => processesOf(dataDir).length === 0);
    }
  });

  test('one that starts while another one stops runs afterwards', async () => {
    const dataDir = embedded.makeFolder();
    await embedded.makeCluster(dataDir);
    const stopping = new EmbeddedUser(dataDir, 'service');
    await stopping.opened();
    const stopped = stopping.close();
    const next = new EmbeddedUser(dataDir, 'service', { command: CONTAINER });
    const used = await next.opened();
    await stopped;
    expect(await query(used, 'select 1 as one')).toEqual([{ one: 1 }]);
    await next.kill();
  });
});
