import { changeText } from '../../../../src/platform/commands/administration/audit-text.js';
import { PRODUCT } from '../../../../src/product.js';
import { useDatabase } from '../../../harness/database/database.js';
import { Cli, OPERATOR } from '../../../harness/processes/command.js';

const TIME = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);

const database = useDatabase();
const cli = Cli.on(database);

beforeEach(async () => {
  await database.empty('api_keys', 'owners', 'operator_actions', 'api_key_usage');
  await database.query(`INSERT INTO owners (name, plan) VALUES ('zoo', 'free'), ('acme', 'pro')`);
});

test('owners list › lists owners by name with their limits', async () => {
  const acme = { id: 2, name: 'acme', plan: 'pro', perMinute: 300, perDay: 10_000 };
  const zoo = { id: 1, name: 'zoo', plan: 'free', perMinute: 60, perDay: 1_000 };
  expect(await cli.json('owners', 'list')).toEqual([
    { ...acme, createdAt: TIME },
    { ...zoo, createdAt: TIME },
  ]);
  const { stdout } = await cli.run('owners', 'list');
  expect(stdout).toMatch(
    /^id {2}name {2}plan {2}perMinute {2}perDay {2}createdAt\n2 {3}acme {2}pro /,
  );
});

test('owners set-plan › changes the plan and its limits, and records the actor and both plans', async () => {
  const setPlan = (...options: string[]) =>
    cli.json('owners', 'set-plan', 'acme', '--plan', ...options);
  const custom = ['enterprise', '--per-minute', '7', '--per-day', '9'];
  const acme = { id: 2, name: 'acme', plan: 'enterprise', perMinute: 7, perDay: 9 };
  expect(await setPlan(...custom)).toMatchObject(acme);
  expect(await setPlan('free')).toMatchObject({ plan: 'free', perMinute: 60, perDay: 1_000 });
  const limits = 'SELECT limit_per_minute AS limit FROM owners ORDER BY id';
  expect(await database.query(limits)).toEqual([{ limit: null }, { limit: null }]);
  const [, action] = await database.query('SELECT actor, action, details FROM operator_actions');
  const plans = { previousPlan: 'enterprise', plan: 'free', limitPerMinute: null };
  expect(action).toEqual({
    actor: OPERATOR,
    action: 'owners set-plan',
    details: { ownerId: 2, owner: 'acme', ...plans, limitPerDay: null },
  });
});

test('owners rename › changes the name, and the audit trail of the owner has both names', async () => {
  await cli.json('owners', 'set-plan', 'acme', '--plan', 'free');
  expect(await cli.json('owners', 'rename', 'acme', ' New shelter ')).toMatchObject({
    id: 2,
    name: 'New shelter',
    plan: 'free',
  });
  await cli.json('keys', 'issue', '--owner', 'acme', '--plan', 'pro');
  const rename = { ownerId: 2, owner: 'New shelter', previousName: 'acme' };
  expect(await cli.json('audit', 'list', '--owner', 'New shelter')).toMatchObject([
    { action: 'owners rename', actor: OPERATOR, details: rename },
    { action: 'owners set-plan', owner: 'acme' },
  ]);
  expect(await cli.json('audit', 'list', '--owner', 'acme')).toMatchObject([
    { action: 'keys issue' },
  ]);
});

test.each([
  [['rename', 'nobody', 'x'], 'The owner "nobody" does not exist.'],
  [['rename', 'acme', 'zoo'], 'The owner "zoo" already exists.'],
  [['rename', 'acme', 'acme'], 'The owner "acme" already exists.'],
  [['set-plan', 'nobody', '--plan', 'pro'], 'The owner "nobody" does not exist.'],
  [['usage', 'nobody'], 'The owner "nobody" does not exist.'],
  // A part of an API key that was given as the name.
  [['usage', `${PRODUCT.keyPrefix}BCbo`], `The owner "${PRODUCT.keyPrefix}…" does not exist.`],
])('owners %j › exits with 1 and one line', async (args, line) => {
  expect(await cli.failure(1, 'owners', ...args)).toBe(line);
});

describe('an owner that does not exist', () => {
  const NEW = ['keys', 'issue', '--plan', 'free', '--owner'];

  beforeEach(() =>
    database.query(
      `INSERT INTO owners (name, plan) VALUES ('City shelter', 'free'), ('Tierheim Süd', 'free'),
         ('Straße 12', 'free')`,
    ),
  );

  test.each([
    ['city shelter', 'City shelter'],
    ['Cityshelter', 'City shelter'],
    ['C ity Shelter', 'City shelter'],
    ['City sheltr', 'City shelter'],
    ['Citi shelters', 'City shelter'],
    ['tierheim sud', 'Tierheim Süd'],
    ['Strasse 12', 'Straße 12'],
    ['acne', 'acme'],
  ])(
    'keys issue --owner %j --plan › names %j, which has a similar name',
    async (owner, similar) => {
      const { code, stderr } = await cli.run(...NEW, owner);
      const names = `There are owners with a similar name: "${similar}".`;
      expect([code, stderr]).toEqual([
        0,
        expect.stringContaining(`\nNew owner "${owner}", plan free. ${names}\n`),
      ]);
      await database.empty('api_keys');
      await database.query('DELETE FROM owners WHERE name = $1', [owner]);
      expect(await cli.failure(1, 'keys', 'issue', '--owner', owner)).toBe(
        `The owner "${owner}" does not exist. Similar names: "${similar}". To create an owner, set --plan.`,
      );
    },
  );

  test.each(['Town shelter', 'Straße 13', 'Straße', 'a', 'bcme shelter', 'xyme'])(
    'keys issue --owner %j --plan › has no similar name',
    async (owner) => {
      const { stderr } = await cli.run(...NEW, owner);
      expect(stderr).toContain(`\nNew owner "${owner}", plan free.\n`);
    },
  );

  test('keys issue › says nothing about an owner that exists', async () => {
    const { stderr } = await cli.run(...NEW, 'City shelter');
    expect(stderr).not.toContain('owner');
  });
});

describe('owners remove', () => {
  const REMOVE = ['owners', 'remove', 'acme', '--yes'];
  const remove = async () => (await cli.run(...REMOVE, '--json')).json;
  const names = async () =>
    ((await cli.json('owners', 'list')) as { name: string }[]).map(({ name }) => name);

  test('removes an owner without API keys, and another one can get its name', async () => {
    expect(await remove()).toEqual({ owner: 'acme', revokedKeyIds: [] });
    expect(await names()).toEqual(['zoo']);
    const audit = await database.query('SELECT action, details FROM operator_actions');
    const details = { ownerId: 2, owner: 'acme', revokedKeyIds: [] };
    expect(audit).toEqual([{ action: 'owners remove', details }]);
    expect(await cli.failure(1, ...REMOVE)).toBe('The owner "acme" does not exist.');
    for (const [index, command] of [
      ['owners', 'rename', 'acme', 'x'],
      ['owners', 'usage', 'acme'],
      ['keys', 'issue', '--owner', 'acme (removed owner 2)'],
      ['owners', 'set-plan', 'acme (removed owner 2)', '--plan', 'pro'],
    ].entries()) {
      expect([index, await cli.failure(1, ...command)]).toEqual([
        index,
        expect.stringContaining('" does not exist.'),
      ]);
    }
    const issued = await cli.json('keys', 'issue', '--owner', 'acme', '--plan', 'free');
    expect(issued).toMatchObject({ owner: 'acme', plan: 'free' });
    expect(await remove()).toMatchObject({ revokedKeyIds: [issued.id] });
  });

  test('revokes API keys that were never used, and does not remove an owner whose used ones are not revoked', async () => {
    for (let key = 0; key < 3; key++) await cli.run('keys', 'issue', '--owner', 'acme');
    await database.query('UPDATE api_keys SET last_used_at = now() WHERE id < 3');
    const used = (ids: string) =>
      `The owner "acme" has API keys that were used and are not revoked: ${ids}. Revoke them first.`;
    expect(await cli.failure(1, ...REMOVE)).toBe(used('1, 2'));
    await database.query("UPDATE api_keys SET expires_at = now() - interval '1 day' WHERE id = 1");
    await cli.run('keys', 'revoke', '2', '--yes');
    expect(await cli.failure(1, ...REMOVE)).toBe(used('1'));
    await cli.run('keys', 'revoke', '1', '--yes');
    expect(await names()).toEqual(['acme', 'zoo']);
    expect(await remove()).toEqual({ owner: 'acme', revokedKeyIds: [3] });
    const valid = 'SELECT count(*)::int FROM api_keys WHERE revoked_at IS NULL';
    expect(await database.query(valid)).toEqual([{ count: 0 }]);
  });

  test('keeps its usage and its changes, which its last name selects', async () => {
    await cli.run('keys', 'issue', '--owner', 'acme');
    await cli.run('keys', 'revoke', '1', '--yes');
    await database.query(
      `INSERT INTO api_key_usage VALUES (current_date, 1, gen_random_uuid(), 3, 0)`,
    );
    await cli.run(...REMOVE);
    const owner = 'acme (removed owner 2)';
    const usage = [{ id: 1, owner, access: 'read-write', note: null, requests: 3, rejections: 0 }];
    expect(await cli.json('keys', 'usage')).toEqual(usage);
    expect(await cli.json('keys', 'usage', '--owner', owner)).toEqual(usage);
    const actions = (await cli.json('audit', 'list', '--owner', owner)) as { action: string }[];
    expect(actions.map(({ action }) => action)).toEqual([
      'owners remove',
      'keys revoke',
      'keys issue',
    ]);
  });

  test('needs --yes without a terminal', async () => {
    await cli.run('keys', 'issue', '--owner', 'acme');
    const { code, stderr } = await cli.run('owners', 'remove', 'acme');
    expect([code, stderr]).toEqual([1, expect.stringContaining('Confirm with --yes.')]);
    expect(await names()).toContain('acme');
  });
});

test('audit list › lists who changed what and when, newest first: all, or the changes of an owner', async () => {
  await cli.json('owners', 'set-plan', 'acme', '--plan', 'free');
  await cli.json('keys', 'issue', '--owner', 'zoo');
  await cli.run('items', 'seed', '--items', '3', '--yes');
  const seed = { action: 'items seed', owner: null, details: { requested: { items: 3 } } };
  const issue = { action: 'keys issue', owner: 'zoo', details: { keyId: 1, plan: 'free' } };
  const setPlan = { action: 'owners set-plan', owner: 'acme', details: { previousPlan: 'pro' } };
  const records = await cli.json('audit', 'list');
  expect(records).toMatchObject([seed, issue, setPlan]);
  expect(records[0]).toEqual({ id: 3, performedAt: TIME, actor: OPERATOR, ...seed });
  expect(await cli.json('audit', 'list', '--owner', 'acme')).toMatchObject([setPlan]);
  expect(await cli.failure(1, 'audit', 'list', '--owner', 'nobody')).toMatch(
    /"nobody" does not exist/,
  );
  const { stdout } = await cli.run('audit', 'list', '--owner', 'acme');
  expect(stdout).toMatch(
    /^id {2}performedAt +actor +owner +change\n1 {3}[\d-]{10}T[\d:.]{12}Z {2}\S+ +acme +changed the plan from pro to free\n$/,
  );
});

test('audit list › shortens the actor and the owner to fit into 80 columns, but never the time', async () => {
  await database.query(
    `INSERT INTO operator_actions (performed_at, actor, action, details) VALUES
       ('2026-11-28T10:20:30.456Z', 'ann@administration-host', 'animals remove', '{"ids": [1, 2]}'),
       ('2026-11-28T10:20:31.456Z', 'ann@administration-host', 'keys revoke', '{"keyId": 7, "owner": "Municipal animal shelter"}')`,
  );
  const lines = (await cli.run('audit', 'list')).stdout.trimEnd().split('\n');
  expect(lines.slice(1).map((line) => line.split(/ {2,}/))).toEqual([
    ['2', '2026-11-28T10:20:31.456Z', 'ann@adminis…', 'Municipal a…', 'revoked key 7'],
    ['1', '2026-11-28T10:20:30.456Z', 'ann@adminis…', '-', 'removed 2 animals'],
  ]);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
});

test('audit list › has 50 changes or as many as --limit says, and --after reaches every change', async () => {
  await database.query(
    `INSERT INTO operator_actions (actor, action, details)
     SELECT 'a@b', 'items seed', jsonb_build_object('ownerId', 1 + n % 2, 'ids', ARRAY(SELECT generate_series(1, 500)))
       FROM generate_series(1, 60) n`,
  );
  const ids = async (...options: string[]) =>
    ((await cli.json('audit', 'list', ...options)) as { id: number }[]).map(({ id }) => id);
  const from = (first: number, count: number, step = 1) =>
    Array.from({ length: count }, (_, index) => first - index * step);
  expect(await ids()).toEqual(from(60, 50));
  expect(await ids('--after', '11')).toEqual(from(10, 10));
  expect(await ids('--limit', '3', '--after', '60')).toEqual([59, 58, 57]);
  expect(await ids('--owner', 'acme', '--limit', '3', '--after', '59')).toEqual([57, 55, 53]);
  const { stdout, stderr } = await cli.run('audit', 'list', '--limit', '2');
  expect(stderr).toMatch(/\nFor older changes, add --after 59\.\n$/);
  // A record can have thousands of ids.
  expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThan(400);
  expect((await cli.run('audit', 'list', '--after', '3')).stderr).not.toContain('--after');
  expect(await cli.failure(2, 'audit', 'list', '--limit', '0')).toMatch(/integer from 1 to 10000/);
  expect((await cli.run('audit', 'list', '--help')).stdout).toMatch(
    /--limit <n> +how many, at most 10000 \(default: 50\)/,
  );
});

test('audit list › --id selects the changes of a row, by its ids or, without them, by a range', async () => {
  await database.query(
    `INSERT INTO operator_actions (actor, action, details) VALUES
       ('ann@one', 'items import', '{"added": 9, "firstId": 1, "lastId": 9007199254740993}'),
       ('ann@one', 'items update', '{"ids": [7, 70], "changed": ["name"]}'),
       ('ann@one', 'items remove', '{"ids": [2, 9], "removed": 2, "firstId": 2, "lastId": 9}'),
       ('ann@one', 'keys revoke', '{"keyId": 7}'),
       ('ann@one', 'letters seal', '{"firstId": "a", "lastId": "b"}'),
       ('ann@one', 'items import', '{"added": 0, "firstId": null, "lastId": null}')`,
  );
  const ids = async (...options: string[]) =>
    ((await cli.json('audit', 'list', '--id', ...options)) as { id: number }[]).map(({ id }) => id);
  expect(await ids('7')).toEqual([2, 1]);
  expect(await ids('9', '--action', 'items remove')).toEqual([3]);
  expect(await ids('9007199254740993')).toEqual([1]);
  expect(await ids('9007199254740994')).toEqual([]);
  expect(await cli.failure(2, 'audit', 'list', '--id', 'x')).toMatch(/Expected an int64/);
});

test('audit list › --since, --until, --actor and --action select changes', async () => {
  await database.query(
    `INSERT INTO operator_actions (performed_at, actor, action, details) VALUES
       ('2026-11-25T23:59:59.999Z', 'ann@one', 'keys revoke', '{"keyId": 1}'),
       ('2026-11-26T00:00:00Z', 'ann@two', 'keys issue', '{"keyId": 2, "plan": "free"}'),
       ('2026-11-26T23:59:59.999Z', 'anna@one', 'animals change', '{"ids": [1], "changed": ["status"]}'),
       ('2026-11-27T00:00:00Z', 'bob@one', 'db migrate', '{"migrations": ["a"]}')`,
  );
  const ids = async (options: string) =>
    ((await cli.json('audit', 'list', ...options.split(' '))) as { id: number }[]).map(
      ({ id }) => id,
    );
  expect(await ids('--since 2026-11-26')).toEqual([4, 3, 2]);
  expect(await ids('--until 2026-11-26')).toEqual([3, 2, 1]);
  expect(await ids('--since 2026-11-26 --until 2026-11-26')).toEqual([3, 2]);
  expect(await ids('--since 2026-11-26T01:00+01:00 --until 2026-11-27T00:00Z')).toEqual([3, 2]);
  expect(await ids('--actor ann')).toEqual([2, 1]);
  expect(await ids('--actor ann@one --limit 1')).toEqual([1]);
  expect(await ids('--action keys')).toEqual([2, 1]);
  expect((await cli.json('audit', 'list', '--action', 'keys issue'))[0].id).toBe(2);
  expect(await ids('--action key')).toEqual([]);
  for (const time of ['yesterday', '2026-02-30', '2026-11-26T10:00', '2026-11-26T25:00Z'])
    expect(await cli.failure(2, 'audit', 'list', '--since', time)).toMatch(/Expected a UTC day/);
});

test.each<[action: string, details: object, text: string]>([
  [
    'keys issue',
    { keyId: 3n, plan: 'pro', isNewOwner: true },
    'issued key 3 to a new owner, plan pro',
  ],
  [
    'keys issue',
    { keyId: 3n, plan: 'pro', expiresAt: '2026-12-01T00:00:00.000Z' },
    'issued key 3, plan pro, expires 2026-12-01',
  ],
  ['keys change', { keyId: 3n, changed: ['note', 'access'] }, 'changed the note, access of key 3'],
  ['keys rotate', { keyId: 3n, newKeyId: 4n, expiresAt: null }, 'replaced key 3 by key 4'],
  ['keys revoke', { keyId: 9007199254740993n }, 'revoked key 9007199254740993'],
  ['keys unban', { keyId: 3n, wasBanned: true }, 'ended the ban of key 3'],
  ['keys unban', { keyId: 3n, wasBanned: false }, 'restarted the count of rejections of key 3'],
  ['keys unban', { keyId: 3n }, 'unbanned key 3'],
  ['owners rename', { previousName: 'a' }, 'renamed the owner, who was "a"'],
  ['owners remove', { revokedKeyIds: [1n] }, 'removed the owner and revoked 1 unused keys'],
  ['db migrate', { migrations: ['a', 'b'] }, 'executed 2 migrations'],
  ['animals change', { ids: [1n, 2n], changed: ['status'] }, 'changed the status of 2 animals'],
  [
    'animals change',
    { ids: [1n], changed: ['status', 'name'] },
    'changed the status, name of 1 animal',
  ],
  ['animals update', { ids: [1n, 2n] }, 'updated 2 animals'],
  ['animals remove', { removed: 3, firstId: 4n, lastId: 9n }, 'removed 3 animals, ids 4 to 9'],
  ['animals import', { added: 0 }, 'imported 0 animals'],
  ['toys sell', { ids: [1n] }, 'toys sell {"ids":[1]}'],
  ['toys change', { note: 0 }, 'toys change {"note":0}'],
])('a change in words: %s %p', (action, details, text) => {
  expect(changeText(action, details as Record<string, unknown>)).toBe(text);
});
