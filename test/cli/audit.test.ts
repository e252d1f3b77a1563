import { useDatabase } from '../harness/database/database.js';
import { Cli, OPERATOR } from '../harness/processes/command.js';

const TIME = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);

const database = useDatabase();
let cli: Cli;

beforeAll(async () => {
  cli = new Cli({ DATABASE_URL: database.url });
  await database.query('ALTER TABLE api_keys ALTER COLUMN id RESTART WITH 9007199254740992');
  await cli.json('keys', 'issue', '--owner', 'City shelter', '--plan', 'free');
  await cli.json('keys', 'issue', '--owner', 'zoo', '--plan', 'pro');
  await cli.json('owners', 'set-plan', 'City shelter', '--plan', 'pro');
  await cli.run('db', 'seed', '--animals', '3', '--yes');
});

describe('audit list', () => {
  test('lists who changed what and when, newest first', async () => {
    const records = await cli.json('audit', 'list');
    expect(records.map(({ action }: { action: string }) => action)).toEqual([
      'db seed',
      'owners set-plan',
      'keys issue',
      'keys issue',
    ]);
    expect(records[0]).toEqual({
      id: 4,
      performedAt: TIME,
      actor: OPERATOR,
      action: 'db seed',
      owner: null,
      details: { requestedAnimals: 3 },
    });
    expect(records[1]).toMatchObject({
      actor: OPERATOR,
      owner: 'City shelter',
      details: { previousPlan: 'free', plan: 'pro' },
    });
  });

  test('with --owner, lists only changes of this owner and its API keys', async () => {
    const records = await cli.json('audit', 'list', '--owner', 'City shelter');
    expect(records.map(({ action }: { action: string }) => action)).toEqual([
      'owners set-plan',
      'keys issue',
    ]);
    const { stdout } = await cli.run('audit', 'list', '--owner', 'nobody');
    expect(stdout).toBe('None.\n');
  });

  test('with --since and --limit, lists only the newest changes', async () => {
    await database.query(
      `UPDATE operator_actions SET performed_at = now() - interval '2 hours' WHERE id < 3`,
    );
    const idsOf = async (...options: string[]): Promise<number[]> =>
      (await cli.json('audit', 'list', ...options)).map(({ id }: { id: number }) => id);
    expect(await idsOf('--since', '1h')).toEqual([4, 3]);
    expect(await idsOf('--since', '3h', '--limit', '3')).toEqual([4, 3, 2]);
    expect(await idsOf('--owner', 'City shelter', '--limit', '1')).toEqual([3]);
  });

  test('prints one line for each change, with exact times and identifiers', async () => {
    const { stdout } = await cli.run('audit', 'list', '--owner', 'zoo');
    const [headings = '', row = '', ...rest] = stdout.trimEnd().split('\n');
    expect(headings.split(/ {2,}/)).toEqual([
      'id',
      'performedAt',
      'actor',
      'action',
      'owner',
      'details',
    ]);
    expect(row).toMatch(
      /^\d +\d{4}-\d{2}-\d{2}T[\d:]{8}Z .* keys issue +zoo +.*keyId 9007199254740993/,
    );
    expect(row).toContain('plan pro');
    expect(rest).toEqual([]);
  });
});
