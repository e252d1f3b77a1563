import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { KeyAdministration } from '../../src/platform/access/administration/key-administration.js';
import { hashKey, keyHint } from '../../src/platform/access/key-format.js';
import { unknownKey } from '../harness/database/api-keys.js';
import { closeBeforeDatabases, useDatabase } from '../harness/database/database.js';
import { Cli, DATABASE_LINE, OPERATOR, resultOf } from '../harness/processes/command.js';
import { runInTerminal } from '../harness/processes/terminal.js';

const KEY = /aas_[0-9A-Za-z]{36}/;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Action {
  actor: string;
  action: string;
  details: Record<string, unknown>;
}

const database = useDatabase();
let cli: Cli;
let listener: Client;

beforeAll(async () => {
  cli = new Cli({ DATABASE_URL: database.url });
  listener = new Client({ connectionString: database.url });
  await listener.connect();
  closeBeforeDatabases(() => listener.end());
});

beforeEach(async () => {
  await database.query('TRUNCATE api_keys, owners, operator_actions RESTART IDENTITY');
});

/** Inserts a key, and its owner if necessary, for tests that do not test issuing. */
async function insertKey(owner = 'acme', plan = 'free', lifetime: string | null = null) {
  const key = unknownKey();
  const limit = plan === 'enterprise' ? 5 : null;
  await database.query(
    `INSERT INTO owners (name, plan, limit_per_minute, limit_per_day) VALUES ($1, $2, $3, $3)
         ON CONFLICT (name) DO NOTHING`,
    [owner, plan, limit],
  );
  await database.query(
    `INSERT INTO api_keys (owner_id, hash, hint, expires_at)
     SELECT id, $2, $3, now() + $4::interval FROM owners WHERE name = $1`,
    [owner, Buffer.from(hashKey(key), 'hex'), keyHint(key), lifetime],
  );
  return key;
}

/** Issues a key. The first key of an owner needs a plan. */
function issue(owner: string, ...options: string[]) {
  return cli.json('keys', 'issue', '--owner', owner, ...options);
}

async function timesOf(id: number): Promise<{ createdMs: number; expiresMs: number | undefined }> {
  const [row] = await database.query<{ created_at: Date; expires_at: Date | null }>(
    'SELECT created_at, expires_at FROM api_keys WHERE id = $1',
    [id],
  );
  return { createdMs: row!.created_at.getTime(), expiresMs: row!.expires_at?.getTime() };
}

function actions(): Promise<Action[]> {
  return database.query('SELECT actor, action, details FROM operator_actions ORDER BY id');
}

/** Resolves when another session waits for a row of this one. */
async function untilSessionWaits(): Promise<void> {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await listener.query(waiting)).rows.length === 0)
    await new Promise((resolve) => setTimeout(resolve, 10));
}

async function count(table: 'api_keys' | 'owners' | 'operator_actions'): Promise<number> {
  const [row] = await database.query<{ count: number }>(`SELECT count(*)::int FROM ${table}`);
  return row!.count;
}

describe('keys issue', () => {
  test('creates a new owner with its plan, prints exactly the properties of the contract, and records the actor', async () => {
    const issued = await issue(' acme ', '--plan', 'pro');
    expect(issued).toEqual({
      id: 1,
      owner: 'acme',
      plan: 'pro',
      key: expect.stringMatching(new RegExp(`^${KEY.source}$`)),
      expiresAt: null,
    });
    expect(Object.keys(issued)).toEqual(['id', 'owner', 'plan', 'key', 'expiresAt']);
    const common = { ownerId: 1, keyId: 1, owner: 'acme', plan: 'pro' };
    const details = { ...common, isNewOwner: true, expiresAt: null };
    expect(await actions()).toEqual([{ actor: OPERATOR, action: 'keys issue', details }]);
  });

  test('shows the key once, says so, and stores only its hash and a hint', async () => {
    const args = ['keys', 'issue', '--owner', 'acme', '--plan', 'free'];
    const { code, stdout, stderr } = await cli.run(...args);
    expect(code).toBe(0);
    expect(stderr).toContain('not shown again');
    const keys = stdout.match(new RegExp(KEY, 'g')) ?? [];
    expect(keys).toHaveLength(1);
    const [key = ''] = keys;
    const [row] = await database.query<{ hint: string; known: boolean }>(
      `SELECT hint, hash = sha256(convert_to($1, 'UTF8')) AS known FROM api_keys`,
      [key],
    );
    expect(row).toEqual({ hint: `${key.slice(0, 8)}…${key.slice(-4)}`, known: true });
    const rows = [
      ...(await database.query('SELECT * FROM api_keys')),
      ...(await database.query('SELECT * FROM operator_actions')),
    ];
    expect(JSON.stringify(rows)).not.toContain(key.slice(8, -4));
  });

  test('issues another key for an existing owner, with or without --plan', async () => {
    await insertKey('acme', 'pro');
    expect(await issue('acme')).toMatchObject({ plan: 'pro' });
    expect(await issue('acme', '--plan', 'pro')).toMatchObject({ plan: 'pro' });
    expect(await count('owners')).toBe(1);
    expect(await count('api_keys')).toBe(3);
  });

  test('requires a plan for a new owner', async () => {
    expect(await cli.failure(1, 'keys', 'issue', '--owner', 'acme')).toMatch(
      /owner "acme" does not exist.*--plan/,
    );
    expect(await count('api_keys')).toBe(0);
  });

  test('does not change a plan, and names the command for that', async () => {
    await insertKey('acme', 'pro');
    const printed = await cli.failure(1, 'keys', 'issue', '--owner', 'acme', '--plan', 'free');
    expect(printed).toContain('owners set-plan');
    expect(await count('api_keys')).toBe(1);
    expect(await count('operator_actions')).toBe(0);
  });

  test('stores the limits of an enterprise owner and rejects different ones', async () => {
    const plan = ['--plan', 'enterprise', '--per-minute', '5', '--per-day'];
    expect(await issue('big', ...plan, '70')).toMatchObject({ plan: 'enterprise' });
    expect(await database.query('SELECT limit_per_minute, limit_per_day FROM owners')).toEqual([
      { limit_per_minute: 5, limit_per_day: 70 },
    ]);
    expect(await cli.failure(1, 'keys', 'issue', '--owner', 'big', ...plan, '71')).toContain(
      'different limits',
    );
  });

  test('sets the expiry of --expires-in', async () => {
    const { id, expiresAt } = await issue('acme', '--plan', 'free', '--expires-in', '90d');
    const { createdMs, expiresMs } = await timesOf(id);
    expect(expiresMs! - createdMs).toBe(90 * DAY_MS);
    expect(expiresAt).toBe(new Date(expiresMs!).toISOString());
  });

  test('prints identifiers beyond 2^53 exactly', async () => {
    await database.query('ALTER TABLE api_keys ALTER COLUMN id RESTART WITH 9007199254740993');
    const issue = ['keys', 'issue', '--owner', 'acme', '--plan', 'free', '--json'];
    const { stdout } = await cli.run(...issue);
    expect(stdout).toMatch(/^\{"id":9007199254740993,/);
    expect((await cli.run('keys', 'inspect', '9007199254740993', '--json')).stdout).toMatch(
      /^\{"id":9007199254740993,/,
    );
  });

  test('creates one owner when two operators issue its first keys at the same time', async () => {
    const plan = ['--plan', 'free'];
    const issued = await Promise.all([issue('acme', ...plan), issue('acme', ...plan)]);
    expect(new Set(issued.map(({ key }) => key)).size).toBe(2);
    expect(await count('owners')).toBe(1);
  });
});

describe('keys list', () => {
  test('lists all keys in the order of their creation, or those of one owner', async () => {
    await insertKey();
    await insertKey('other', 'pro', '1 hour');
    await database.query('UPDATE api_keys SET revoked_at = now() WHERE id = 1');
    await database.query(`UPDATE api_keys SET last_used_at = '2026-11-20T10:00:00Z' WHERE id = 2`);
    const { expiresMs } = await timesOf(2);
    const keys = await cli.json('keys', 'list');
    const hint = expect.stringMatching(/^aas_\w{4}…\w{4}$/);
    const time = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
    const common = { hint, createdAt: time };
    const acme = {
      ...common,
      id: 1,
      owner: 'acme',
      plan: 'free',
      status: 'revoked',
      lastUsedAt: null,
      expiresAt: null,
      revokedAt: time,
    };
    const other = {
      ...common,
      id: 2,
      owner: 'other',
      plan: 'pro',
      status: 'active',
      lastUsedAt: '2026-11-20T10:00:00.000Z',
      expiresAt: new Date(expiresMs!).toISOString(),
      revokedAt: null,
    };
    expect(keys).toEqual([acme, other]);
    expect(await cli.json('keys', 'list', '--owner', 'other')).toEqual([other]);
  });

  test('prints aligned columns and no key', async () => {
    await insertKey('a');
    await insertKey('longer name', 'enterprise');
    const { stdout } = await cli.run('keys', 'list');
    const [headings = '', ...rows] = stdout.trimEnd().split('\n');
    expect(headings.split(/ {2,}/)).toEqual([
      'id',
      'owner',
      'plan',
      'hint',
      'status',
      'createdAt',
      'lastUsedAt',
      'expiresAt',
      'revokedAt',
    ]);
    expect(rows.map((row) => row.indexOf('aas_'))).toEqual([
      headings.indexOf('hint'),
      headings.indexOf('hint'),
    ]);
    expect(stdout).not.toMatch(KEY);
  });

  test('shows the status of each key', async () => {
    for (const lifetime of [null, '90 days', '90 days', '90 days', null])
      await insertKey('acme', 'free', lifetime);
    await cli.run('keys', 'revoke', '3', '--yes');
    await database.query(`UPDATE api_keys SET expires_at = now() WHERE id = 4`);
    await cli.json('keys', 'rotate', '5');
    const keys = await cli.json('keys', 'list');
    expect(keys.map(({ status }: { status: string }) => status)).toEqual([
      ...['active', 'active', 'revoked', 'expired', 'rotated', 'active'],
    ]);
    const { stderr } = await cli.run('keys', 'list');
    expect(stderr).toMatch(
      /^Database: .*\n.* bans cannot be read, because REDIS_URL is unset here\..*\n$/,
    );
  });

  test('is empty when there are no keys, and fails only for an owner that does not exist', async () => {
    await database.query(`INSERT INTO owners (name, plan) VALUES ('keyless', 'free')`);
    expect((await cli.run('keys', 'list')).stdout).toBe('None.\n');
    expect(await cli.json('keys', 'list', '--owner', 'keyless')).toEqual([]);
    expect(await cli.failure(1, 'keys', 'list', '--owner', 'nobody')).toContain(
      'owner "nobody" does not exist',
    );
  });
});

describe('the successor of an API key', () => {
  it('is found by an index, whatever the length of the audit trail', async () => {
    await insertKey();
    const key = await insertKey();
    await database.query(
      `INSERT INTO operator_actions (actor, action, details)
       SELECT '', (ARRAY['keys issue', 'keys rotate'])[1 + n % 2],
              jsonb_build_object('keyId', 1 + n % 10000, 'newKeyId', n)
         FROM generate_series(1, 20000) AS n`,
    );
    await database.query('ANALYZE operator_actions');
    const dataSource = new DataSource({ type: 'postgres', url: database.url });
    await dataSource.initialize();
    const [byId, byKey, rows] = await dataSource
      .transaction(async (transaction) => {
        const keys = new KeyAdministration(transaction);
        return [
          await keys.inspect(2n),
          await keys.inspect(key),
          await transaction.query<unknown>(
            `SELECT seq_tup_read::integer AS read FROM pg_stat_xact_user_tables
              WHERE relname = 'operator_actions'`,
          ),
        ];
      })
      .finally(() => dataSource.destroy());
    expect(byId).toMatchObject({ status: 'rotated', successorId: '10001' });
    expect(byKey).toEqual(byId);
    expect(rows).toEqual([{ read: 0 }]);
  });
});

describe('keys rotate', () => {
  test('creates a key of the same owner and lineage, and prints it as issue does', async () => {
    const oldKey = await insertKey('acme', 'pro');
    await database.query('UPDATE api_keys SET unban_count = 3');
    const second = await cli.json('keys', 'rotate', '1');
    expect(Object.keys(second)).toEqual(['id', 'owner', 'plan', 'key', 'expiresAt']);
    expect(second).toMatchObject({ owner: 'acme', plan: 'pro', expiresAt: null });
    expect(second.key).not.toBe(oldKey);
    const third = await cli.json('keys', 'rotate', String(second.id));
    const lineage =
      'SELECT owner_id, first_key_id, unban_count FROM api_keys WHERE id = ANY($1) ORDER BY id';
    expect(await database.query(lineage, [[second.id, third.id]])).toEqual([
      { owner_id: '1', first_key_id: '1', unban_count: 3 },
      { owner_id: '1', first_key_id: '1', unban_count: 3 },
    ]);
  });

  test('prints how long the old key is valid, 24 hours by default', async () => {
    await insertKey();
    const { stdout, stderr } = await cli.run('keys', 'rotate', '1');
    expect(stderr).toMatch(/Key 1 is valid until \d{4}-\d{2}-\d{2}T/);
    expect(stdout.match(new RegExp(KEY, 'g'))).toHaveLength(1);
    const { createdMs: rotatedMs } = await timesOf(2);
    expect((await timesOf(1)).expiresMs).toBe(rotatedMs + DAY_MS);
  });

  test.each([
    ['30m', HOUR_MS / 2],
    ['0', 0],
  ])(
    'makes the old key expire after the overlap of %s, and records the actor',
    async (overlap, overlapMs) => {
      await insertKey();
      const { id } = await cli.json('keys', 'rotate', '1', '--overlap', overlap);
      const { createdMs: rotatedMs } = await timesOf(id);
      expect((await timesOf(1)).expiresMs).toBe(rotatedMs + overlapMs);
      const keys = { ownerId: 1, keyId: 1, newKeyId: id, owner: 'acme' };
      const details = { ...keys, overlapSeconds: overlapMs / 1_000, expiresAt: null };
      expect(await actions()).toEqual([{ actor: OPERATOR, action: 'keys rotate', details }]);
    },
  );

  test('never extends the lifetime of the old key', async () => {
    await insertKey('acme', 'free', '1 hour');
    const { expiresMs } = await timesOf(1);
    await cli.json('keys', 'rotate', '1', '--overlap', '7d');
    expect((await timesOf(1)).expiresMs).toBe(expiresMs);
  });

  test('gives the new key the lifetime that the old key was issued with, even after two rotations', async () => {
    await insertKey('acme', 'free', '2160 hours');
    await database.query(
      `UPDATE api_keys SET created_at = created_at - interval '80 days', expires_at = expires_at - interval '80 days'`,
    );
    const second = await cli.json('keys', 'rotate', '1', '--overlap', '1h');
    const third = await cli.run('keys', 'rotate', '1', '--overlap', '30m', '--json');
    for (const { id } of [second, third.json]) {
      const { createdMs, expiresMs } = await timesOf(id);
      expect(expiresMs! - createdMs).toBe(90 * DAY_MS);
    }
  });

  test('of a key that was rotated before names the earlier successor, and inspect the latest', async () => {
    await insertKey();
    await cli.json('keys', 'rotate', '1');
    const { code, stderr } = await cli.run('keys', 'rotate', '1');
    expect(code).toBe(0);
    expect(stderr).toMatch(/\nKey 1 was already rotated\. That rotation created key 2\.\n$/);
    expect(await cli.json('keys', 'inspect', '1')).toMatchObject({
      status: 'rotated',
      successorId: 3,
    });
    expect(await cli.json('keys', 'inspect', '3')).toMatchObject({ successorId: null });
  });

  test('with --overlap 0, says that the old key has ended, and names the successor when it is rotated again', async () => {
    await insertKey();
    const { stderr } = await cli.run('keys', 'rotate', '1', '--overlap', '0');
    expect(stderr).toContain('\nKey 1 is no longer valid.\n');
    expect(await cli.failure(1, 'keys', 'rotate', '1')).toBe(
      'The key 1 is expired or revoked. Its successor is key 2.',
    );
  });

  test.each([
    ['expired', `UPDATE api_keys SET expires_at = now() - interval '1 second'`],
    ['revoked', 'UPDATE api_keys SET revoked_at = now()'],
  ])('rejects a key that is %s', async (_, change) => {
    await insertKey();
    await database.query(change);
    expect(await cli.failure(1, 'keys', 'rotate', '1')).toMatch(
      /expired or revoked\. .*keys issue/,
    );
    expect(await count('api_keys')).toBe(1);
  });
});

describe('keys revoke', () => {
  test('revokes the key and records it; a second time, it changes nothing', async () => {
    await insertKey();
    const revoke = ['keys', 'revoke', '1', '--yes', '--json'];
    const { json: revoked } = await cli.run(...revoke);
    expect(revoked).toMatchObject({ id: 1, owner: 'acme', revokedAt: expect.any(String) });
    const details = { ownerId: 1, keyId: 1, owner: 'acme' };
    const recorded = [{ actor: OPERATOR, action: 'keys revoke', details }];
    expect(await actions()).toEqual(recorded);
    expect((await cli.run(...revoke)).json).toEqual(revoked);
    expect(await actions()).toEqual(recorded);
  });

  test('exits with 1 without a terminal and without --yes, and changes nothing', async () => {
    await insertKey();
    const { stderr } = await cli.run('keys', 'revoke', '1');
    expect(stderr).toContain('Standard input is not a terminal. Confirm with --yes.');
    expect(await cli.json('keys', 'inspect', '1')).toMatchObject({ revokedAt: null });
  });

  test.each([
    ['another name', () => 'pets', 1],
    ['the name of the database', () => database.name, 0],
  ])('when the operator types %s', async (_what, typed, exitCode) => {
    await insertKey();
    const { code, screen } = await runInTerminal(cli, ['keys', 'revoke', '1'], `${typed()}\r`);
    expect(screen).toContain(`This revokes key 1 of acme in ${database.name} on `);
    expect(code).toBe(exitCode);
    const { status } = await cli.json('keys', 'inspect', '1');
    expect(status).toBe(code === 0 ? 'revoked' : 'active');
  });
});

describe('keys unban', () => {
  test('lifts the ban of the lineage and of no other key, and records it', async () => {
    await insertKey();
    await insertKey();
    await insertKey();
    await database.query('UPDATE api_keys SET first_key_id = 1 WHERE id = 2');
    await cli.json('keys', 'unban', '2');
    expect(await database.query('SELECT id, unban_count FROM api_keys ORDER BY id')).toEqual([
      { id: '1', unban_count: 1 },
      { id: '2', unban_count: 1 },
      { id: '3', unban_count: 0 },
    ]);
    const details = { ownerId: 1, keyId: 2, owner: 'acme' };
    expect((await actions()).at(-1)).toEqual({ actor: OPERATOR, action: 'keys unban', details });
  });
});

describe('keys rotate and keys unban of one lineage at the same time', () => {
  test('the new key does not miss the unban in progress', async () => {
    await insertKey();
    await database.query('BEGIN');
    await database.query('UPDATE api_keys SET unban_count = unban_count + 1');
    const rotation = cli.json('keys', 'rotate', '1');
    await untilSessionWaits();
    await database.query('COMMIT');
    const { id } = await rotation;
    const key = 'SELECT unban_count FROM api_keys WHERE id = $1';
    expect(await database.query(key, [id])).toEqual([{ unban_count: 1 }]);
  });

  test('the unban does not miss the new key of a rotation in progress', async () => {
    await insertKey();
    await database.query('BEGIN');
    await database.query('SELECT FROM api_keys WHERE id = 1 FOR NO KEY UPDATE');
    await database.query(
      `INSERT INTO api_keys (owner_id, first_key_id, hash, hint) VALUES (1, 1, sha256(''), '')`,
    );
    const unban = cli.json('keys', 'unban', '1');
    await untilSessionWaits();
    await database.query('COMMIT');
    await unban;
    expect(await database.query('SELECT DISTINCT unban_count FROM api_keys')).toEqual([
      { unban_count: 1 },
    ]);
  });
});

describe('keys inspect', () => {
  test('shows the same details by id and by key', async () => {
    const key = await insertKey('big', 'enterprise');
    const byId = await cli.json('keys', 'inspect', '1');
    const limits = { perMinute: 5, perDay: 5 };
    expect(byId).toMatchObject({ id: 1, owner: 'big', status: 'active', firstKeyId: 1, ...limits });
    expect(await cli.json('keys', 'inspect', key)).toEqual(byId);
    const { stdout } = await cli.run('keys', 'inspect', key);
    expect(stdout).toMatch(/^status +active$/m);
    expect(stdout).not.toContain(key);
    await database.query('UPDATE api_keys SET revoked_at = now()');
    expect(await cli.json('keys', 'inspect', '1')).toMatchObject({ status: 'revoked' });
  });

  test('exits with 1 for a truncated key, and for one that the store did not issue', async () => {
    const key = unknownKey();
    expect(await cli.failure(1, 'keys', 'inspect', key.slice(0, -1))).toBe(
      'This is not an API key. It may be mistyped or truncated.',
    );
    expect(await cli.failure(1, 'keys', 'inspect', key)).toBe(
      'This store did not issue this API key. It may be mistyped.',
    );
  });
});

describe('a key that does not exist', () => {
  test.each(['rotate', 'revoke', 'unban', 'inspect'])(
    'keys %s exits with 1 and one line',
    async (command) => {
      expect(await cli.failure(1, 'keys', command, '4711')).toBe('The key 4711 does not exist.');
      expect(await count('operator_actions')).toBe(0);
    },
  );
});

describe('standard output', () => {
  test('a reader that closes the pipe early is not a failure', async () => {
    const child = cli.start('keys', 'list');
    child.stdout.destroy();
    expect(await resultOf(child)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(DATABASE_LINE),
    });
  });
});
