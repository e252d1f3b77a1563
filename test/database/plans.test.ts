import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { planConstraints } from '../../src/platform/access/owner.entity.js';
import { PLAN_LIMITS, type PlanLimits } from '../../src/platform/config/plans.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';

type Plans = Record<string, PlanLimits | null>;

let database: TestDatabase;

beforeEach(async () => {
  database = await createDatabase();
});

afterEach(() => database.close());

/** Returns the definition of each check constraint of a table, as PostgreSQL writes it. */
async function definitionsOf(table: string): Promise<Map<string, string>> {
  const rows = await database.query<{ name: string; definition: string }>(
    `SELECT conname AS name, pg_get_constraintdef(oid) AS definition
       FROM pg_constraint WHERE conrelid = to_regclass($1) AND contype = 'c'`,
    [table],
  );
  return new Map(rows.map(({ name, definition }) => [name, definition]));
}

/** Returns why the plans need a migration, and which one. undefined if they need none. */
async function missingMigration(plans: Plans): Promise<string | undefined> {
  const expected = Object.entries(planConstraints(plans));
  await database.query('BEGIN; CREATE TEMPORARY TABLE planned (LIKE owners)');
  for (const [name, check] of expected)
    await database.query(`ALTER TABLE planned ADD CONSTRAINT ${name} CHECK (${check})`);
  const [stored, planned] = [await definitionsOf('owners'), await definitionsOf('planned')];
  await database.query('ROLLBACK');
  const changed = expected.filter(([name]) => stored.get(name) !== planned.get(name));
  if (changed.length === 0) return undefined;
  const statement = (checks: string[]) => `ALTER TABLE owners\n  ${checks.join(',\n  ')};`;
  const replaced = (name: string, check: string) =>
    `DROP CONSTRAINT ${name},\n  ADD CONSTRAINT ${name} CHECK (${check.replace(/\s+/g, ' ')})`;
  return `The plans in src/platform/config/plans.ts (${Object.keys(plans).join(', ')}) do not match the constraints of the table owners.
Add a migration to src/platform/database/migrations. Its up() executes

${statement(changed.map(([name, check]) => replaced(name, check)))}`;
}

test('docs/limits.md lists every plan', () => {
  const page = readFileSync(join(__dirname, '../../docs/limits.md'), 'utf8');
  const text = (limit?: number) => limit?.toLocaleString('en') ?? 'set per owner';
  for (const [plan, limits] of Object.entries(PLAN_LIMITS)) {
    const row = ['', plan, text(limits?.perMinute), text(limits?.perDay), ''];
    expect(page).toMatch(new RegExp(row.join(' *\\| *'), 'i'));
  }
});

test('the migrations allow exactly the plans of src/platform/config/plans.ts', async () => {
  expect(await missingMigration(PLAN_LIMITS)).toBeUndefined();
});

test.each<[string, Plans, string[]]>([
  ['a plan', { gold: { perMinute: 1, perDay: 2 } }, ['owners_plan_check']],
  ['a plan with custom limits', { gold: null }, ['owners_plan_check', 'owners_limits_check']],
  ['custom limits for an existing plan', { pro: null }, ['owners_limits_check']],
])('%s needs a migration, and the message contains its statements', async (_, added, names) => {
  const plans = { ...PLAN_LIMITS, ...added };
  const message = await missingMigration(plans);
  expect(message).toMatch(/do not match.*\nAdd a migration to src\/platform\/database\/migrations/);
  for (const name of names) expect(message).toContain(`ADD CONSTRAINT ${name} CHECK (`);
  await database.query(message!.split('\n\n')[1]!);
  expect(await missingMigration(plans)).toBeUndefined();
});
