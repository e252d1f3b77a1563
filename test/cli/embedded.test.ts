import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cli } from './command.js';

describe('a command on the embedded database, with no service running', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'cli-'));
    // The server's user, when there is one, has to pass.
    chmodSync(dataDir, 0o755);
  });

  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  test('the first two at once make the database and its schema and share the server, and the next ones find their work', async () => {
    const cli = new Cli({ DATA_DIR: dataDir });
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
    expect(await cli.failure(1, 'owners', 'list')).toContain('db migrate');
    await cli.json('db', 'migrate');
    expect(await cli.json('owners', 'list')).toEqual([]);
  });
});
