import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
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

  test('two concurrent commands create the database and share the server, and later ones see their data', async () => {
    const cli = new Cli({ DATA_DIR: dataDir });
    const migrated = await Promise.all([cli.json('db', 'migrate'), cli.json('db', 'migrate')]);
    expect(migrated.filter(({ executed }) => executed.length > 0)).toHaveLength(1);
    const plan = ['--plan', 'free'];
    const [{ id, key }] = await Promise.all([
      cli.json('keys', 'issue', '--owner', 'acme', ...plan),
      cli.json('keys', 'issue', '--owner', 'zoo', ...plan),
    ]);
    const [found, owners, status] = await Promise.all([
      cli.json('keys', 'inspect', key),
      cli.json('owners', 'list'),
      cli.json('db', 'status'),
    ]);
    expect(found).toMatchObject({ id, owner: 'acme' });
    expect(owners).toHaveLength(2);
    expect(status).toMatchObject({ pending: [] });
  });

  test('leaves the schema to db migrate when MIGRATE_ON_START is false', async () => {
    const cli = new Cli({ DATA_DIR: dataDir, MIGRATE_ON_START: 'false' });
    expect((await cli.run('db', 'seed', '--animals', '1')).code).toBe(1);
    expect(await cli.failure(1, 'owners', 'list')).toContain('db migrate');
    await cli.json('db', 'migrate');
    expect(await cli.json('owners', 'list')).toEqual([]);
  });

  test('db seed creates it and needs no confirmation', async () => {
    const cli = new Cli({ DATA_DIR: dataDir });
    const seeded = await cli.run('db', 'seed', '--animals', '3');
    expect(seeded).toMatchObject({ code: 0, stderr: `Database: embedded in ${dataDir}\n` });
  });
});

describe('a command on an embedded database that does not exist', () => {
  test.each([
    'keys issue --owner a --plan free',
    'keys list',
    'keys rotate 1',
    'keys revoke 1',
    'keys unban 1',
    'keys inspect 1',
    'owners list',
    'owners set-plan a --plan pro',
    'owners usage a',
    'audit list',
    'db status',
  ])(
    '"%s" exits with 1 and one line that says what to do, and creates nothing',
    async (command) => {
      const parent = mkdtempSync(join(tmpdir(), 'cli-'));
      const dataDir = join(parent, 'data');
      try {
        const { code, stdout, stderr } = await new Cli({ DATA_DIR: dataDir }).run(
          ...command.split(' '),
        );
        expect({ code, stdout, stderr }).toEqual({
          code: 1,
          stdout: '',
          stderr: `There is no database in ${dataDir}. Set DATABASE_URL, or run \`npm start\` first.\n`,
        });
        expect(existsSync(dataDir)).toBe(false);
      } finally {
        rmSync(parent, { recursive: true, force: true });
      }
    },
  );

  test('exits with 1 when DATA_DIR is empty, and leaves it empty', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'cli-'));
    try {
      const line = await new Cli({ DATA_DIR: dataDir }).failure(1, 'keys', 'list');
      expect(line).toContain(`There is no database in ${dataDir}.`);
      expect(readdirSync(dataDir)).toEqual([]);
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
