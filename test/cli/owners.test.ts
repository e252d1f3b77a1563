import { useDatabase } from '../harness/database/database.js';
import { Cli, OPERATOR } from '../harness/processes/command.js';

const database = useDatabase();
let cli: Cli;

beforeAll(() => {
  cli = new Cli({ DATABASE_URL: database.url });
});

beforeEach(async () => {
  await database.query('TRUNCATE api_keys, owners, operator_actions RESTART IDENTITY');
  await database.query(`INSERT INTO owners (name, plan) VALUES ('zoo', 'free'), ('acme', 'pro')`);
});

describe('owners list', () => {
  test('lists owners by name with their limits and the number of active keys', async () => {
    await database.query(
      `INSERT INTO api_keys (owner_id, hash, hint, expires_at, revoked_at)
       SELECT 1, sha256(n::text::bytea), '', CASE n WHEN 1 THEN now() END, CASE n WHEN 2 THEN now() END
         FROM generate_series(1, 4) AS n`,
    );
    expect(await cli.json('owners', 'list')).toEqual([
      {
        id: 2,
        name: 'acme',
        plan: 'pro',
        perMinute: 300,
        perDay: 10_000,
        activeKeys: 0,
        createdAt: expect.any(String),
      },
      {
        id: 1,
        name: 'zoo',
        plan: 'free',
        perMinute: 60,
        perDay: 1_000,
        activeKeys: 2,
        createdAt: expect.any(String),
      },
    ]);
    const { stdout } = await cli.run('owners', 'list');
    expect(stdout).toMatch(
      /^id {2}name {2}plan {2}perMinute {2}perDay {2}activeKeys {2}createdAt\n2 {3}acme {2}pro /,
    );
  });

  test('is empty when there are no owners', async () => {
    await database.query('TRUNCATE owners, api_keys');
    expect(await cli.json('owners', 'list')).toEqual([]);
  });
});

describe('owners set-plan', () => {
  test.each([
    ['business', [], { perMinute: 1_000, perDay: 100_000 }],
    ['enterprise', ['--per-minute', '7', '--per-day', '9'], { perMinute: 7, perDay: 9 }],
  ])("changes the owner's plan to %s", async (plan, options, limits) => {
    const changed = await cli.json('owners', 'set-plan', 'acme', '--plan', plan, ...options);
    expect(changed).toMatchObject({ id: 2, name: 'acme', plan, ...limits });
  });

  test('removes custom limits together with the enterprise plan, and records the actor and both plans', async () => {
    await database.query(
      `UPDATE owners SET plan = 'enterprise', limit_per_minute = 7, limit_per_day = 9 WHERE id = 2`,
    );
    await cli.json('owners', 'set-plan', 'acme', '--plan', 'free');
    expect(
      await database.query(
        `SELECT plan, limit_per_minute, limit_per_day FROM owners WHERE name = 'acme'`,
      ),
    ).toEqual([{ plan: 'free', limit_per_minute: null, limit_per_day: null }]);
    expect(await database.query('SELECT actor, action, details FROM operator_actions')).toEqual([
      {
        actor: OPERATOR,
        action: 'owners set-plan',
        details: {
          ownerId: 2,
          owner: 'acme',
          previousPlan: 'enterprise',
          plan: 'free',
          limitPerMinute: null,
          limitPerDay: null,
        },
      },
    ]);
  });

  test('exits with 1 and one line when the owner does not exist', async () => {
    expect(await cli.failure(1, 'owners', 'set-plan', 'nobody', '--plan', 'pro')).toBe(
      'The owner "nobody" does not exist.',
    );
  });

  test('does not print a part of an API key that was given as the name', async () => {
    expect(await cli.failure(1, 'owners', 'set-plan', 'aas_BCboKxlId1O', '--plan', 'pro')).toBe(
      'The owner "aas_…" does not exist.',
    );
  });
});
