// Commands that change the same keys at the same time. The first one runs in the host of the worker, the second one in another host.
import { createKey, createOwner } from '../../../harness/database/factories.js';
import { useDatabase } from '../../../harness/database/database.js';
import { holdAfter, untilSessionsWait } from '../../../harness/database/database-lock.js';
import { Cli, PROGRAM } from '../../../harness/processes/command.js';
import { CommandHost } from '../../../harness/processes/command-host.js';

const HOLD_OWNER = `SELECT FROM owners WHERE name = 'acme' FOR UPDATE`;
const REVOKE_FIRST = 'UPDATE api_keys SET revoked_at = now() WHERE id = 1';
const revokeAll = ['keys', 'revoke', '--owner', 'acme', '--yes'];
const issueNew = (plan: string) => ['keys', 'issue', '--owner', 'acme', '--plan', plan];

const database = useDatabase();
const cli = Cli.on(database);

let other: CommandHost;
beforeAll(async () => {
  other = await CommandHost.start();
});
afterAll(() => other.stop());

beforeEach(() => database.empty('api_keys', 'owners', 'operator_actions'));

const listed = async () => (await cli.json('keys', 'list')) as { status: string }[];

async function createKeys(count: number): Promise<void> {
  const { id } = await createOwner(database, { name: 'acme', plan: 'free' });
  while (--count > 0) await createKey(database, id);
}

/** Runs commands that wait in this order until the transaction of a statement ends. */
async function runDuring(statement: string, first: string[], second?: string[]) {
  const env = { ...cli.env, DATABASE_LOCK_TIMEOUT_SECONDS: '60' };
  const lock = await holdAfter(database, statement);
  const results = [new Cli(env).run(...first)];
  await untilSessionsWait(database);
  if (second) results.push(new Cli(env, {}, PROGRAM, other).run(...second));
  await untilSessionsWait(database, results.length);
  await lock.release();
  const ended = await Promise.all(results);
  return ended.map(({ code, stderr }) => [code, stderr.trimEnd().split('\n').at(-1)]);
}

test.each([
  ['a lineage', '', 'read committed'],
  ['a lineage whose first key is revoked', REVOKE_FIRST, 'read committed'],
  ['a database with another isolation level', REVOKE_FIRST, 'repeatable read'],
])('rotate leaves no key alive that revoke --owner covers › %s', async (_, setup, isolation) => {
  await createKeys(2);
  await database.query(`UPDATE api_keys SET first_key_id = 1 WHERE id = 2; ${setup}`);
  const level = `ALTER DATABASE ${database.name} SET default_transaction_isolation`;
  await database.query(`${level} = '${isolation}'`);
  const results = await runDuring(HOLD_OWNER, revokeAll, ['keys', 'rotate', '2']);
  await database.query(`${level} TO DEFAULT`);
  const message = expect.stringMatching(/^The key 2 is revoked\. Issue a new one/);
  expect(results).toEqual([
    [0, expect.anything()],
    [1, message],
  ]);
  expect((await listed()).map(({ status }) => status)).toEqual(['revoked', 'revoked']);
});

test('issue compares the plan with the one that set-plan has stored', async () => {
  await createKeys(1);
  const setPlan = ['owners', 'set-plan', 'acme', '--plan', 'pro'];
  const [, issued] = await runDuring(HOLD_OWNER, setPlan, issueNew('free'));
  expect(issued).toEqual([1, expect.stringMatching(/has the plan pro/)]);
  expect(await listed()).toHaveLength(1);
});

test('change keeps what rotate does in the meantime', async () => {
  await createKeys(1);
  const rotate = ['keys', 'rotate', '1', '--overlap', '0'];
  await runDuring(HOLD_OWNER, rotate, ['keys', 'change', '1', '--note', 'Old']);
  expect(await cli.json('keys', 'inspect', '1')).toMatchObject({ successorId: 2, note: 'Old' });
});

test('rename and issue of a new owner with the same name › one of both', async () => {
  await createOwner(database, { name: 'other' });
  const create = `INSERT INTO owners (name, plan) VALUES ('acme', 'free')`;
  const [renamed] = await runDuring(create, ['owners', 'rename', 'other', 'acme']);
  expect(renamed).toEqual([1, 'The owner "acme" already exists.']);
});

test('revoke reports a successor that the key got in the meantime', async () => {
  await createKeys(2);
  const rotate = 'UPDATE api_keys SET successor_id = 2 WHERE id = 1';
  const [revoked] = await runDuring(rotate, ['keys', 'revoke', '1', '--yes']);
  expect(revoked).toEqual([0, 'Its successor, key 2, stays active.']);
});

test('issue uses an owner that another command creates, unless the plan differs', async () => {
  const create = `INSERT INTO owners (name, plan) VALUES ('acme', 'free')`;
  const results = await runDuring(create, issueNew('pro'), issueNew('free'));
  expect(results).toEqual([
    [1, expect.stringMatching(/has the plan free/)],
    [0, expect.stringContaining('not shown again')],
  ]);
  const issuing = { details: expect.objectContaining({ isNewOwner: false }) };
  expect(await cli.json('audit', 'list')).toMatchObject([issuing]);
});
