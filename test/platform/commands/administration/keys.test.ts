import { spawn } from 'node:child_process';
import { PRODUCT } from '../../../../src/product.js';
import { hashKey, keyHint } from '../../../../src/platform/access/key-format.js';
import { unknownKey } from '../../../harness/database/api-keys.js';
import { useDatabase } from '../../../harness/database/database.js';
import { holdAfter } from '../../../harness/database/database-lock.js';
import { Cli, OPERATOR, PROGRAM, resultOf } from '../../../harness/processes/command.js';
import { inheritedEnvironment } from '../../../harness/service/service.js';

const KEY = new RegExp(`${PRODUCT.keyPrefix}[0-9A-Za-z]{36}`, 'g');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ISSUED = ['id', 'owner', 'plan', 'key', 'expiresAt', 'access', 'note'];
const TIME = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);

const database = useDatabase();
const cli = Cli.on(database);

beforeEach(() => database.empty('api_keys', 'owners', 'operator_actions'));

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
const issue = (owner: string, ...options: string[]) =>
  cli.json('keys', 'issue', '--owner', owner, ...options);

async function timesOf(id: number): Promise<{ createdMs: number; expiresMs: number | undefined }> {
  const [row] = await database.query<{ created_at: Date; expires_at: Date | null }>(
    'SELECT created_at, expires_at FROM api_keys WHERE id = $1',
    [id],
  );
  return { createdMs: row!.created_at.getTime(), expiresMs: row!.expires_at?.getTime() };
}

const actions = () =>
  database.query('SELECT actor, action, details FROM operator_actions ORDER BY id');

const statuses = async (...options: string[]): Promise<[id: number, status: string][]> => {
  const keys = (await cli.json('keys', 'list', ...options)) as { id: number; status: string }[];
  return keys.map(({ id, status }) => [id, status]);
};

describe('keys issue', () => {
  test('creates a new owner with its plan, prints exactly the properties of the contract, and records the actor', async () => {
    const issued = await issue(' acme ', '--plan', 'pro');
    const key = expect.stringMatching(new RegExp(`^${KEY.source}$`));
    const access = { access: 'read-write', note: null };
    expect(issued).toEqual({ id: 1, owner: 'acme', plan: 'pro', key, expiresAt: null, ...access });
    expect(Object.keys(issued)).toEqual(ISSUED);
    const common = { ownerId: 1, keyId: 1, owner: 'acme', plan: 'pro' };
    const details = { ...common, isNewOwner: true, access: 'read-write', expiresAt: null };
    expect(await actions()).toEqual([{ actor: OPERATOR, action: 'keys issue', details }]);
  });

  test('shows the key once, says so, and stores only its hash and a hint', async () => {
    const args = ['keys', 'issue', '--owner', 'acme', '--plan', 'free'];
    const { code, stdout, stderr } = await cli.run(...args);
    expect(code).toBe(0);
    expect(stderr).toContain('not shown again');
    const [key = '', ...others] = stdout.match(KEY) ?? [];
    expect(others).toEqual([]);
    const keys = await database.query<{ hint: string; known: boolean }>(
      `SELECT hint, hash = sha256(convert_to($1, 'UTF8')) AS known FROM api_keys`,
      [key],
    );
    expect(keys).toEqual([{ hint: `${key.slice(0, 8)}…${key.slice(-4)}`, known: true }]);
    const rows = [...(await database.query('SELECT * FROM api_keys')), ...(await actions())];
    expect(JSON.stringify(rows)).not.toContain(key.slice(8, -4));
  });

  test('issues another key for an existing owner, with its plan or without one', async () => {
    await insertKey('acme', 'pro');
    expect(await issue('acme')).toMatchObject({ plan: 'pro' });
    expect(await issue('acme', '--plan', 'pro')).toMatchObject({ id: 3, plan: 'pro' });
    expect(await cli.json('owners', 'list')).toHaveLength(1);
    const limits = ['--plan', 'enterprise', '--per-minute', '5', '--per-day'];
    expect(await issue('big', ...limits, '70')).toMatchObject({ plan: 'enterprise' });
    expect(await issue('big', ...limits, '70')).toMatchObject({ plan: 'enterprise' });
  });

  test.each([
    ['new', ['new'], /owner "new" does not exist.*--plan/],
    ['with another plan', ['acme', '--plan', 'free'], /plan enterprise.*owners set-plan/],
    [
      'with other limits',
      ['acme', '--plan', 'enterprise', '--per-minute', '5', '--per-day', '6'],
      /different limits.*owners set-plan/,
    ],
  ])('exits with 1 for an owner that is %s, and changes nothing', async (_, options, message) => {
    await insertKey('acme', 'enterprise');
    expect(await cli.failure(1, 'keys', 'issue', '--owner', ...options)).toMatch(message);
    expect(await cli.json('keys', 'list')).toHaveLength(1);
    expect(await actions()).toEqual([]);
  });

  test('sets the access and the note, which rotation keeps', async () => {
    const options = ['--read-only', '--note', ' Website, Ann 🐈 '];
    const first = await issue('acme', '--plan', 'free', ...options);
    const expected = { access: 'read', note: 'Website, Ann 🐈' };
    expect(first).toMatchObject(expected);
    expect(await cli.json('keys', 'rotate', '1')).toMatchObject({ id: 2, ...expected });
    const listed = (await cli.json('keys', 'list')) as object[];
    expect(listed).toMatchObject([expected, expected]);
    const names = 'id owner plan hint access note status createdAt lastUsedAt expiresAt revokedAt';
    expect(Object.keys(listed[0]!)).toEqual(names.split(' '));
  });

  test('sets the expiry of --expires-in', async () => {
    const { id, expiresAt } = await issue('acme', '--plan', 'free', '--expires-in', '90d');
    const { createdMs, expiresMs } = await timesOf(id);
    expect(expiresMs! - createdMs).toBe(90 * DAY_MS);
    expect(expiresAt).toBe(new Date(expiresMs!).toISOString());
  });
});

describe('keys list', () => {
  test('lists all keys in the order of their creation, or those of one owner', async () => {
    await insertKey();
    await insertKey('other', 'pro', '1 hour');
    await database.query(`UPDATE api_keys SET last_used_at = '2026-11-20T10:00:00Z' WHERE id = 2`);
    const access = { access: 'read-write', note: null };
    const common = { ...access, hint: expect.stringMatching(/^\w{4,}…\w{4}$/), createdAt: TIME };
    const active = { ...common, status: 'active', revokedAt: null };
    const acme = {
      ...active,
      id: 1,
      owner: 'acme',
      plan: 'free',
      lastUsedAt: null,
      expiresAt: null,
    };
    const other = { ...active, id: 2, owner: 'other', plan: 'pro', expiresAt: TIME };
    const lastUsedAt = '2026-11-20T10:00:00.000Z';
    expect(await cli.json('keys', 'list')).toEqual([acme, { ...other, lastUsedAt }]);
    expect(await cli.json('keys', 'list', '--owner', 'other')).toEqual([{ ...other, lastUsedAt }]);
  });

  test('prints aligned columns with a value, days and no key, and says why bans are unknown', async () => {
    await insertKey('a', 'free', '1 hour');
    await insertKey('longer name', 'enterprise');
    const { stdout, stderr } = await cli.run('keys', 'list');
    const [headings = '', ...rows] = stdout.trimEnd().split('\n');
    const names = 'id owner plan hint access status expiresAt'.split(' ');
    expect(headings.split(/ {2,}/)).toEqual(names);
    const column = headings.indexOf('hint');
    expect(rows.map((row) => row.indexOf(PRODUCT.keyPrefix))).toEqual([column, column]);
    expect(rows[0]).toMatch(/ active {2}\d{4}-\d\d-\d\d$/);
    expect(stdout).not.toMatch(KEY);
    expect(stderr).toMatch(/^Database: .*\n.* bans cannot be read\. If the service uses Redis/);
  });

  test('fits into 80 columns: shortens long names and omits the least important columns', async () => {
    await insertKey('Municipal animal shelter, north', 'enterprise', '1 hour');
    await insertKey('b', 'free');
    const times = 'last_used_at = now(), revoked_at = now()';
    await database.query(`UPDATE api_keys SET ${times} WHERE id = 2`);
    const lines = (await cli.run('keys', 'list')).stdout.trimEnd().split('\n');
    const names = 'id owner hint access status lastUsedAt expiresAt'.split(' ');
    expect(lines[0]?.split(/ {2,}/)).toEqual(names);
    expect(lines[1]).toMatch(/^1 {3}Municipal anima… {2}/);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    await database.query(`UPDATE api_keys SET note = repeat('n', 200)`);
    const narrow = (await cli.run('keys', 'list')).stdout.trimEnd().split('\n');
    expect(narrow[0]).toMatch(/^id {2,}owner {2,}access {2,}note {2,}status {2,}lastUsedAt/);
    expect(narrow[1]).toMatch(/Municipal a… {2}read-write {2}n{11}… {2}active/);
    expect(Math.max(...narrow.map(({ length }) => length))).toBeLessThanOrEqual(80);
  });

  test('shows the status of each key, and only those with --status', async () => {
    for (const lifetime of [null, '90 days', '90 days', null])
      await insertKey('acme', 'free', lifetime);
    await cli.run('keys', 'revoke', '2', '--yes');
    await database.query(`UPDATE api_keys SET expires_at = now() WHERE id = 3`);
    await cli.json('keys', 'rotate', '4');
    const expected = ['active', 'revoked', 'expired', 'rotated', 'active'];
    const all = expected.map((status, index) => [index + 1, status]);
    expect(await statuses()).toEqual(all);
    for (const status of ['active', 'revoked', 'expired', 'rotated'])
      expect(await statuses('--status', status)).toEqual(all.filter((key) => key[1] === status));
    expect(await cli.failure(1, 'keys', 'list', '--status', 'banned')).toMatch(/REDIS_URL/);
  });
});

describe('keys rotate', () => {
  test('creates a key of the same owner and lineage, and prints it as issue does', async () => {
    const oldKey = await insertKey('acme', 'pro');
    await database.query('UPDATE api_keys SET unban_count = 3');
    const second = await cli.json('keys', 'rotate', '1');
    expect(Object.keys(second)).toEqual(ISSUED);
    expect(second).toMatchObject({ owner: 'acme', plan: 'pro', expiresAt: null });
    expect(second.key).not.toBe(oldKey);
    const third = await cli.json('keys', 'rotate', String(second.id));
    const lineage =
      'SELECT owner_id, first_key_id, unban_count FROM api_keys WHERE id = ANY($1) ORDER BY id';
    const expected = { owner_id: '1', first_key_id: '1', unban_count: 3 };
    expect(await database.query(lineage, [[second.id, third.id]])).toEqual([expected, expected]);
  });

  test.each([
    [[], DAY_MS],
    [['--overlap', '30m'], HOUR_MS / 2],
    [['--overlap', '0'], 0],
  ])('%j › the old key expires after the overlap of %i ms', async (options, overlapMs) => {
    await insertKey();
    const { stdout } = await cli.run('keys', 'rotate', '1', ...options);
    expect(stdout.match(KEY)).toHaveLength(1);
    const { createdMs: rotatedMs } = await timesOf(2);
    const { expiresMs } = await timesOf(1);
    expect(expiresMs).toBe(rotatedMs + overlapMs);
    const keys = { ownerId: 1, keyId: 1, newKeyId: 2, owner: 'acme' };
    const details = { ...keys, overlapSeconds: overlapMs / 1_000, expiresAt: null };
    expect(await actions()).toEqual([{ actor: OPERATOR, action: 'keys rotate', details }]);
  });

  test('never extends the lifetime of the old key', async () => {
    await insertKey('acme', 'free', '1 hour');
    const { expiresMs } = await timesOf(1);
    await cli.json('keys', 'rotate', '1', '--overlap', '7d');
    expect((await timesOf(1)).expiresMs).toBe(expiresMs);
  });

  test('gives the new key the lifetime that the old key was issued with', async () => {
    await insertKey('acme', 'free', '2160 hours');
    await database.query(
      `UPDATE api_keys SET created_at = created_at - interval '80 days', expires_at = expires_at - interval '80 days'`,
    );
    const { id } = await cli.json('keys', 'rotate', '1', '--overlap', '1h');
    const { createdMs, expiresMs } = await timesOf(id);
    expect(expiresMs! - createdMs).toBe(90 * DAY_MS);
    expect(await cli.json('keys', 'inspect', '1')).toMatchObject({
      status: 'rotated',
      successorId: id,
    });
  });

  test('gives the new key the lifetime that was set last', async () => {
    await issue('acme', '--plan', 'free', '--expires-in', '700d');
    await database.query(
      `UPDATE api_keys SET created_at = created_at - interval '699 days', expires_at = expires_at - interval '699 days'`,
    );
    await cli.json('keys', 'change', '1', '--expires-in', '7d');
    const second = await timesOf((await cli.json('keys', 'rotate', '1')).id);
    expect(second.expiresMs! - second.createdMs).toBe(7 * DAY_MS);
    await cli.json('keys', 'change', '2', '--no-expiry');
    expect(await cli.json('keys', 'rotate', '2')).toMatchObject({ expiresAt: null });
  });

  test('--expires-in gives the new key another lifetime', async () => {
    await insertKey('acme', 'free', '2160 hours');
    const { id } = await cli.json('keys', 'rotate', '1', '--expires-in', '2h');
    const { createdMs, expiresMs } = await timesOf(id);
    expect(expiresMs! - createdMs).toBe(2 * HOUR_MS);
  });

  test.each([
    ['expired', `UPDATE api_keys SET expires_at = now() - interval '1 second'`, 'keys issue'],
    ['revoked', 'UPDATE api_keys SET revoked_at = now()', 'keys issue'],
    ['rotated', 'UPDATE api_keys SET successor_id = 7', 'successor is key 7'],
  ])('exits with 1 for a key that is %s, and names what to use', async (_, change, message) => {
    await insertKey();
    await database.query(change);
    expect(await cli.failure(1, 'keys', 'rotate', '1')).toContain(message);
    expect(await cli.json('keys', 'list')).toHaveLength(1);
  });
});

test('keys change › changes the given properties only, and records which ones, but not the note', async () => {
  await insertKey();
  const change = (...options: string[]) => cli.json('keys', 'change', '1', ...options);
  const unchanged = { note: null, access: 'read-write', expiresAt: null };
  expect(await change('--access', 'read')).toMatchObject({ ...unchanged, access: 'read' });
  const note = 'Kiosk, phone 555-0100';
  const noted = await change('--note', note, '--expires-in', '90d');
  expect(noted).toMatchObject({ note, access: 'read', expiresAt: TIME, status: 'active' });
  expect(await change('--no-expiry', '--access', 'read-write')).toMatchObject({
    ...unchanged,
    note,
  });
  expect(await change('--note', note, '--no-expiry')).toMatchObject({ note });
  expect(await change('--expires-in', '0')).toMatchObject({ status: 'expired', expiresAt: TIME });
  const details = (changed: string[], access: string, expiresAt: unknown) => ({
    ownerId: 1,
    keyId: 1,
    owner: 'acme',
    changed,
    access,
    expiresAt,
  });
  expect(await actions()).toEqual(
    [
      details(['access'], 'read', null),
      details(['note', 'expiresAt'], 'read', noted.expiresAt),
      details(['access', 'expiresAt'], 'read-write', null),
      details(['expiresAt'], 'read-write', TIME),
    ].map((each) => ({ actor: OPERATOR, action: 'keys change', details: each })),
  );
});

describe('keys usage', () => {
  beforeEach(async () => {
    await database.empty('api_key_usage');
    for (const owner of ['acme', 'acme', 'zoo']) await insertKey(owner);
    // Two processes have counted requests of key 1 today.
    await database.query(
      `INSERT INTO api_key_usage
       SELECT (now() AT TIME ZONE 'UTC')::date - age, id, gen_random_uuid(), requests, rejections
         FROM (VALUES (1, 0, 9223372036854775000, 1), (1, 0, 7, 1), (1, 29, 5, 0), (1, 30, 8, 0), (3, 1, 9, 2))
           AS usage (id, age, requests, rejections)`,
    );
  });
  const usageOf = async (...args: string[]) =>
    (await cli.run('keys', 'usage', ...args, '--json')).stdout;
  const day = (age: number) => new Date(Date.now() - age * DAY_MS).toISOString().slice(0, 10);

  test('shows an API key by UTC day, the latest first, exactly', async () => {
    const today = `{"day":"${day(0)}","requests":9223372036854775007,"rejections":2}`;
    const earlier = `{"day":"${day(29)}","requests":5,"rejections":0}`;
    expect(await usageOf('1')).toBe(`[${today},${earlier}]\n`);
    expect(await usageOf('1', '--days', '1')).toBe(`[${today}]\n`);
    expect(await cli.json('keys', 'usage', '1', '--days', '31')).toHaveLength(3);
    expect(await usageOf('2')).toBe('[]\n');
  });

  test('shows all API keys, or those of an owner, the most used first, in 80 columns', async () => {
    await cli.json('keys', 'change', '3', '--note', 'Kiosk');
    const zoo = { id: 3, owner: 'zoo', access: 'read-write', note: 'Kiosk' };
    const ids = (await cli.json('keys', 'usage')).map(({ id }: { id: number }) => id);
    expect(ids).toEqual([1, 3]);
    expect(await cli.json('keys', 'usage', '--owner', 'zoo')).toEqual([
      { ...zoo, requests: 9, rejections: 2 },
    ]);
    const { stdout } = await cli.run('keys', 'usage');
    expect(stdout).toMatch(/^id {2}owner {2}access +note +requests +rejections\n1 /);
  });
});

describe('keys revoke', () => {
  test('revokes the key and records it; a second time, it changes nothing', async () => {
    await insertKey();
    const revoke = ['keys', 'revoke', '1', '--yes', '--json'];
    const { json: revoked } = await cli.run(...revoke);
    expect(revoked).toMatchObject({ id: 1, owner: 'acme', status: 'revoked', revokedAt: TIME });
    const details = { ownerId: 1, keyId: 1, owner: 'acme' };
    const recorded = [{ actor: OPERATOR, action: 'keys revoke', details }];
    expect(await actions()).toEqual(recorded);
    expect((await cli.run(...revoke)).json).toEqual(revoked);
    expect(await actions()).toEqual(recorded);
    const { code, stdout, stderr } = await cli.run('keys', 'revoke', '1');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^status +revoked$/m),
    });
    expect(stderr).toMatch(
      new RegExp(`^Database: .*\\nAPI key 1 was already revoked at ${revoked.revokedAt}\\.\\n$`),
    );
    expect(await actions()).toEqual(recorded);
  });

  test('names the successor of a rotated key, which stays valid', async () => {
    await insertKey();
    await cli.json('keys', 'rotate', '1');
    const { stderr } = await cli.run('keys', 'revoke', '1', '--yes');
    expect(stderr).toContain('\nIts successor, key 2, stays active.\n');
  });

  test('--owner revokes every key of the owner, also one that is issued meanwhile, and no other', async () => {
    for (const owner of ['acme', 'acme', 'other']) await insertKey(owner);
    await cli.run('keys', 'revoke', '1', '--yes');
    const lock = await holdAfter(
      database,
      `INSERT INTO api_keys (owner_id, hash, hint) SELECT owner_id, sha256(''), '' FROM api_keys WHERE id = 1`,
    );
    const revoking = cli.run('keys', 'revoke', '--owner', 'acme', '--yes', '--json');
    await lock.waitedFor();
    await lock.release();
    const { json, stderr } = await revoking;
    expect(stderr).toContain(`This revokes all keys of acme in ${database.name} on `);
    expect(json.map(({ id }: { id: number }) => id)).toEqual([1, 2, 4]);
    expect((await statuses('--status', 'active')).map(([id]) => id)).toEqual([3]);
    expect((await actions()).map(({ details }) => details.keyId)).toEqual([1, 2, 4]);
  });

  test('exits with 1 without a terminal and without --yes, and changes nothing', async () => {
    await insertKey();
    for (const selection of [['1'], ['--owner', 'acme']])
      expect((await cli.run('keys', 'revoke', ...selection)).stderr).toContain(
        'Standard input is not a terminal. Confirm with --yes.',
      );
    expect(await statuses()).toEqual([[1, 'active']]);
  });
});

test('keys unban › does not record the end of a ban if nobody knows whether there was one', async () => {
  await insertKey();
  await cli.json('keys', 'unban', '1');
  const details = { ownerId: 1, keyId: 1, owner: 'acme' };
  expect(await actions()).toEqual([{ actor: OPERATOR, action: 'keys unban', details }]);
  const { stdout } = await cli.run('audit', 'list');
  expect(stdout).toMatch(/unbanned key 1$/m);
});

describe('keys inspect', () => {
  const NO_KEY =
    'The text has no complete API key of this store. Of standard input, only the first line is read.';
  async function inspectInput(input: string) {
    const child = spawn(process.execPath, [PROGRAM, 'keys', 'inspect', '-', '--json'], {
      env: { ...inheritedEnvironment(), DATABASE_URL: database.url },
    });
    child.stdin.end(`${input}\n`);
    return resultOf(child);
  }

  test('shows the same details by id and by key', async () => {
    const key = await insertKey('big', 'enterprise');
    const byId = await cli.json('keys', 'inspect', '1');
    const limits = { perMinute: 5, perDay: 5 };
    expect(byId).toMatchObject({ id: 1, owner: 'big', status: 'active', firstKeyId: 1, ...limits });
    expect(await cli.json('keys', 'inspect', key)).toEqual(byId);
    const { stdout } = await cli.run('keys', 'inspect', key);
    expect(stdout).toMatch(/^status +active$/m);
    expect(stdout).not.toContain(key);
  });

  test.each([
    'Bearer KEY',
    '{"key":"KEY"}',
    '2026-11-26 GET /v1?key=KEY&again=KEY 200',
    `const key='KEY'; // ${PRODUCT.keyPrefix}…`,
    '\\nKEY\\n',
  ])('finds the key in a text: %s', async (form) => {
    const text = form.replaceAll('KEY', await insertKey());
    expect(await cli.json('keys', 'inspect', text)).toMatchObject({ id: 1, status: 'active' });
  });

  // In a process, because its standard input is read.
  test('finds the key in the first line of standard input', async () => {
    const text = `Bearer ${await insertKey()} 1\n${await insertKey()}`;
    expect((await inspectInput(text)).json).toMatchObject({ id: 1, status: 'active' });
    const { code, stderr } = await inspectInput(`\n${text}`);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(NO_KEY) });
  });

  test('exits with 1 for a text with several keys, and shows none of them', async () => {
    const text = `${await insertKey()} ${await insertKey()}`;
    const message = 'The text has 2 different API keys. Pass one at a time.';
    expect(await cli.failure(1, 'keys', 'inspect', text)).toBe(message);
  });

  test.each([
    ['text without a key', 'Bearer abc'],
    ['truncated key', unknownKey().slice(0, -1)],
  ])('exits with 1 for a %s, and does not say that no such key was issued', async (_, text) => {
    expect(await cli.failure(1, 'keys', 'inspect', text)).toBe(NO_KEY);
  });

  test('exits with 1 for a key of another store', async () => {
    expect(await cli.failure(1, 'keys', 'inspect', unknownKey())).toBe(
      'This store did not issue this API key. It may be mistyped.',
    );
  });
});

test.each(['rotate', 'revoke', 'unban', 'inspect', 'usage', 'change --no-expiry'])(
  'keys %s › exits with 1 and one line for a key that does not exist',
  async (command) => {
    expect(await cli.failure(1, 'keys', ...command.split(' '), '4711')).toBe(
      'The key 4711 does not exist.',
    );
    expect(await actions()).toEqual([]);
  },
);

test.each(['issue --owner acme --plan free', 'rotate 1'])(
  'keys %s --expires-in 0 › exits with 2, because the key would not be valid',
  async (command) => {
    await insertKey();
    const words = [...command.split(' '), '--expires-in', '0d'];
    expect(await cli.failure(2, 'keys', ...words)).toContain('longer than 0');
  },
);
