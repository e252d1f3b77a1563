import { Client } from 'pg';
import { PRODUCT } from '../../../../src/product.js';
import { findPostgresPrograms } from '../../../harness/database/postgres-programs.js';
import { PostgresServer } from '../../../harness/database/postgres-server.js';
import { ApiClient } from '../../../harness/http/client.js';
import { Cli, resultOf } from '../../../harness/processes/command.js';
import {
  EmbeddedUser,
  makeCluster,
  makeFolder,
  type Opened,
  processesOf,
  query,
} from '../../../harness/processes/embedded-user.js';
import { until } from '../../../harness/run/until.js';
import { startBuiltService, startService } from '../../../harness/service/service.js';

const programs = findPostgresPrograms();
const COPY = ['db', 'copy-embedded'];
const MAX = 2n ** 63n - 1n;

/**
 * Tables of a feature: one that sorts before those that it refers to, with a column that only looks like a
 * reference, one that requires an owner, one with the name of a table of the copy, and a trigger that changes
 * rows.
 */
const FEATURE = `
  create table a_visits (id serial primary key, owner_id bigint not null, buyer_id bigint references owners,
    item_id bigint not null references test_items, label text generated always as ('item ' || item_id) stored);
  create table b_sales (id serial primary key, seller bigint not null references owners);
  create table own_records (id serial primary key, owner_id bigint);
  create function change() returns trigger as 'begin new.item_id = -1; return new; end' language plpgsql;
  create trigger change before insert on a_visits for each row execute function change()`;

// In this order: the last test copies.
(programs ? describe : describe.skip)('db copy-embedded', () => {
  let dataDir: string;
  let embedded: Cli;
  let target: PostgresServer;
  let cli: Cli;
  let demoKey: string;
  let user: EmbeddedUser;
  let opened: Promise<Opened>;
  const keys: string[] = [];

  /** Runs statements on the embedded database, which `user` keeps open. */
  async function source(...statements: string[]) {
    let rows: Record<string, unknown>[] = [];
    for (const sql of statements) rows = await query(await opened, sql);
    return rows;
  }
  function open(): void {
    user = new EmbeddedUser(dataDir, 'command');
    opened = user.opened();
  }
  /** Without a process of its own, which takes longer. */
  async function rejected(env: object = {}): Promise<string> {
    const { code, stdout, stderr } = await new Cli({ ...cli.env, ...env }).runInHost(...COPY);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    return /^(?:Database: .+\n)?(.+)\n$/.exec(stderr)![1]!;
  }
  const unchanged = async () => {
    const state = `select (select count(*)::int from owners) + (select count(*)::int from test_items) as rows,
      (select is_called from own_records_id_seq) as used, (select json_agg(action) from operator_actions) as actions`;
    expect(await target.query(state)).toEqual([{ rows: 0, used: false, actions: ['db migrate'] }]);
  };

  beforeAll(async () => {
    dataDir = makeFolder();
    await makeCluster(dataDir);
    const started = PostgresServer.create(programs!);
    embedded = new Cli({ DATA_DIR: dataDir });
    open();
    await opened;
    const run = async (command: string) =>
      (await embedded.runInHost(...command.split(' '), '--json')).json;
    await run('db migrate');
    // As the service adds demo data.
    demoKey = (await run('keys issue --owner demo --plan business')).key;
    await source(
      `update operator_actions set action = 'demo data added', details = '{"demoKeyId": 1, "isNewOwner": true}'
        where action = 'keys issue'`,
      `insert into test_items (name, category_id, status, created_by_key_id)
       select 'By demo', 1, 'sold', 1 from generate_series(1, 7)`,
    );
    const { id, key } = await run('keys issue --owner acme --plan pro');
    keys.push(key, (await run(`keys rotate ${id}`)).key);
    await run('keys issue --owner demo');
    await source(
      `insert into test_items (name, category_id, status, created_by_key_id) values
         (E'"O''Malley", \\\\N \\\\. =1+1\\r\\n\\t😀', ${MAX}, 'sold', ${id}), ('x', -${MAX} - 1, 'available', null)`,
      `insert into test_items (name, category_id, status) select 'n' || n, n, 'sold' from generate_series(1, 1000) n`,
      `insert into idempotency_keys select owner_id, 'k' || id, hash, '{}', now() + interval '1 day' from api_keys`,
      FEATURE,
      'alter table a_visits disable trigger change',
      `insert into a_visits (owner_id, buyer_id, item_id) values (2, 2, 8), (2, 1, 9), (1, 1, 9)`,
      'insert into b_sales (seller) values (1), (2), (1)',
      'insert into own_records (owner_id) values (1)',
      // In the same microsecond as the demo owner.
      `insert into operator_actions (performed_at, actor, action, details)
       select performed_at, actor, 'keys issue', '{"keyId": 2, "isNewOwner": true}' from operator_actions where action = 'demo data added'`,
      // As if the owner had been renamed.
      `update owners set name = 'was demo' where name = 'demo'`,
      'alter table a_visits enable trigger change',
    );
    target = await started;
    await target.query(FEATURE);
    cli = new Cli({ DATA_DIR: dataDir, DATABASE_URL: target.url });
  });
  afterAll(() => target.remove());

  test('refuses missing databases, other migrations, and a target that is not empty', async () => {
    expect(await rejected({ DATABASE_URL: '' })).toContain('Set DATABASE_URL');
    expect(await rejected({ DATA_DIR: makeFolder() })).toContain('There is no database in');
    await target.query('create database bare');
    const bare = target.url.replace(/postgres$/, 'bare');
    expect(await rejected({ DATABASE_URL: bare })).toContain('db migrate');
    for (const [table, row, message] of [
      ['migrations', `(timestamp, name) values (1, 'Later1')`, 'differ'],
      ['test_items', `(name, category_id, status) values ('a', 1, 'sold')`, 'test_items has rows'],
      ['key_secret', `values ('a')`, 'key_secret has rows'],
    ]) {
      await target.query(`insert into ${table} ${row}`);
      expect(await rejected()).toContain(message);
      await target.query(`delete from ${table} where ctid = (select max(ctid) from ${table})`);
    }
    await unchanged();
  });

  test('a row that the target rejects leaves it as it was', async () => {
    await target.query(`alter table test_items add constraint short check (name <> 'x')`);
    expect(await rejected()).toMatch(/^23514: .+short/);
    await target.query('alter table test_items drop constraint short');
    await unchanged();
  });

  test.each(['source', 'target'])('refuses while a service uses the %s', async (side) => {
    if (side === 'source') await user.close();
    const service =
      side === 'source'
        ? await startBuiltService({ DATA_DIR: dataDir })
        : await startService({ database: target.database });
    if (side === 'source') {
      // As the pool does after a minute without requests.
      open();
      await source(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${PRODUCT.database}'`,
      );
      await user.close();
    }
    expect(await rejected()).toMatch(/^A service uses .+\. Stop it first\.$/);
    await ('stop' in service ? service.stop() : service.close());
    if (side === 'source') open();
    await unchanged();
  });

  /** Does something while the copy waits for a lock of the target. Returns the line of the copy. */
  async function whileItWaits(work: () => Promise<void>, env: object = {}): Promise<string> {
    const holder = new Client({ connectionString: target.url });
    await holder.connect();
    try {
      await holder.query('begin; lock table test_items in access share mode');
      const result = rejected({ DATABASE_LOCK_TIMEOUT_SECONDS: '60', ...env });
      const waiting = `select from pg_locks where not granted and relation = 'test_items'::regclass`;
      await until(async () => (await target.query(waiting)).length > 0);
      await work();
      await holder.query('commit');
      return await result;
    } finally {
      await holder.end();
    }
  }

  test('refuses a service that starts between the check and the lock of the target', async () => {
    const name = 'the store';
    const service = new Client({ connectionString: target.url, application_name: name });
    const url = new URL(target.url);
    url.searchParams.set('application_name', name);
    const line = await whileItWaits(
      async () => {
        await service.connect();
      },
      { DATABASE_URL: url.href.replaceAll('+', '%20') },
    );
    expect(line).toMatch(/^A service uses .+\. Stop it first\.$/);
    await service.end();
    const sessions = `select from pg_stat_activity where application_name = '${name}'`;
    await until(async () => (await target.query(sessions)).length === 0);
    await unchanged();
  });

  test('nobody changes the source while it is copied: a revocation fails with a line, and is not lost', async () => {
    // The copy fails, so that a later test can copy.
    await target.query(
      `insert into test_items (name, category_id, status) values ('a', 1, 'sold')`,
    );
    const line = await whileItWaits(async () => {
      const env = { DATA_DIR: dataDir, DATABASE_LOCK_TIMEOUT_SECONDS: '0.2' };
      // In a process of its own, as that of another operator.
      const { code, stderr } = await resultOf(new Cli(env).start('keys', 'revoke', '3', '--yes'));
      expect([code, stderr]).toEqual([1, expect.stringContaining('has locked a row or a table')]);
    });
    expect(line).toContain('test_items has rows');
    await target.query('delete from test_items');
    await unchanged();
  });

  test('a signal leaves the target as it was, and stops the embedded server', async () => {
    await user.close();
    await target.query(`create function hold() returns boolean as
      'begin perform pg_advisory_xact_lock_shared(7); return true; end' language plpgsql`);
    await target.query('alter table test_items add constraint hold check (hold())');
    const holder = new Client({ connectionString: target.url });
    await holder.connect();
    await holder.query('select pg_advisory_lock(7)');
    const command = new Cli({ ...cli.env, DATABASE_LOCK_TIMEOUT_SECONDS: '60' }).start(...COPY);
    const result = resultOf(command);
    const held = `select from pg_stat_activity where wait_event = 'advisory' and query like 'COPY %'`;
    await until(async () => (await target.query(held)).length > 0);
    command.kill('SIGTERM');
    expect(await result).toMatchObject({ code: 143, stdout: '' });
    await holder.end();
    await until(async () => (await target.query(held)).length === 0);
    expect(processesOf(dataDir)).toEqual([]);
    await target.query('alter table test_items drop constraint hold');
    await unchanged();
  });

  test('copies everything but the demo owner, its API keys, and what refers to them', async () => {
    open();
    await opened;
    const { code, stderr } = await cli.runInHost(...COPY);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /^Database: .+\nRows that were not copied: (?=.*\bowners 1\b)(?=.*\bapi_keys 2\b)(?=.*\bb_sales 2\b).+\. They are the demo owner, its API keys, and rows that refer to them\.\n$/,
      ),
    ]);
    const [record] = await target.query<{ details: object }>(
      `select details from operator_actions where action = 'db copy-embedded'`,
    );
    expect(record?.details).toMatchObject({
      rows: {
        owners: 1,
        api_keys: 2,
        key_secret: 1,
        idempotency_keys: 4,
        a_visits: 3,
        b_sales: 1,
        own_records: 1,
        test_items: 1009,
        operator_actions: 5,
      },
      left: { owners: 1, api_keys: 2, b_sales: 2 },
      omitted: { owners: [1], api_keys: [1, 4] },
    });
    const items = `select id, name, category_id::text, status,
                         created_by_key_id as key from test_items order by id`;
    const secret = 'select secret from key_secret';
    for (const sql of [items, secret]) expect(await target.query(sql)).toEqual(await source(sql));
    const visits = `select string_agg(concat_ws('/', id, owner_id, buyer_id, label), ' ' order by id) as all`;
    expect(await target.query(`${visits} from a_visits`)).toEqual([
      { all: '1/2/2/item 8 2/2/item 9 3/1/item 9' },
    ]);
    for (const list of ['keys list', 'owners list', 'audit list']) {
      const [ours, theirs] = await Promise.all(
        [embedded, cli].map(
          async (each) => (await each.runInHost(...list.split(' '), '--json')).json,
        ),
      );
      const kept = ours.filter(
        ({ owner, name }: { owner?: string; name?: string }) =>
          !(owner ?? name ?? '').includes('demo'),
      );
      expect(theirs.slice(list === 'audit list' ? 2 : 0)).toEqual(kept);
    }
    const [latest] = await target.query(
      'select action from operator_actions order by id desc limit 1',
    );
    expect(latest).toEqual({ action: 'db copy-embedded' });
    const service = await startService({ database: target.database, nowMs: Date.now() });
    const get = async (key: string) => (await new ApiClient(service, key).get('/v1/items')).status;
    expect(await Promise.all([...keys, demoKey].map(get))).toEqual([200, 200, 401]);
    const item = { name: 'next', categoryId: 1 };
    const created = await new ApiClient(service, keys[1]).post('/v1/items', item);
    expect(created.json).toMatchObject({ id: 1010 });
    await service.close();
    // The triggers work again.
    const insert = target.query('insert into a_visits (owner_id, item_id) values (2, 1)');
    await expect(insert).rejects.toMatchObject({ code: '23503' });
  });
});
