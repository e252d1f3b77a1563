import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cli } from '../harness/processes/command.js';

describe('a command on the embedded database while no service runs', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'cli-'));
    // The server's operating system user, if any, needs access to the folder.
    chmodSync(dataDir, 0o755);
  });

  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  test('with MIGRATE_ON_START=false, only db migrate creates the schema, two at once share the server, and later ones see their data', async () => {
    const cli = new Cli({ DATA_DIR: dataDir, MIGRATE_ON_START: 'false' });
    expect(await cli.failure(1, 'db', 'seed', '--animals', '1')).toContain('db migrate');
    const migrated = await Promise.all([cli.json('db', 'migrate'), cli.json('db', 'migrate')]);
    expect(migrated.filter(({ executed }) => executed.length > 0)).toHaveLength(1);
    const [{ id, key }] = await Promise.all([
      cli.json('keys', 'issue', '--owner', 'acme', '--plan', 'free'),
      cli.json('keys', 'issue', '--owner', 'zoo', '--plan', 'free'),
    ]);
    const [found, owners] = await Promise.all([
      cli.json('keys', 'inspect', key),
      cli.json('owners', 'list'),
    ]);
    expect(found).toMatchObject({ id, owner: 'acme' });
    expect(owners).toHaveLength(2);
  }, 120_000);

  test('db seed creates it and needs no confirmation', async () => {
    const cli = new Cli({ DATA_DIR: dataDir });
    const seeded = await cli.run('db', 'seed', '--animals', '3');
    expect(seeded).toMatchObject({ code: 0, stderr: `Database: embedded in ${dataDir}\n` });
  });
});

test.each([
  ...['keys issue --owner a --plan free', 'keys list', 'keys rotate 1', 'keys revoke 1'],
  ...['keys unban 1', 'keys inspect 1', 'owners list', 'owners set-plan a --plan pro'],
  ...['owners usage a', 'audit list', 'db status'],
])(
  '"%s" without a database exits with 1 and one line that says what to do, and creates nothing',
  async (command) => {
    const parent = mkdtempSync(join(tmpdir(), 'cli-'));
    try {
      // A folder that does not exist, and one that is empty.
      for (const dataDir of [join(parent, 'data'), parent]) {
        const cli = new Cli({ DATA_DIR: dataDir });
        expect(await cli.runInHost(...command.split(' '))).toEqual({
          code: 1,
          stdout: '',
          stderr: `There is no database in ${dataDir}. Set DATABASE_URL, or run \`npm start\` first.\n`,
        });
        expect(readdirSync(parent)).toEqual([]);
      }
    } finally {
      rmSync(parent, { recursive: true, force: true });
    }
  },
);
