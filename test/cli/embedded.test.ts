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

  test('makes the database and its schema when it is the first to need them, and the next one finds its work', async () => {
    const cli = new Cli({ DATA_DIR: dataDir });
    const { key } = await cli.json('keys', 'issue', '--owner', 'acme', '--plan', 'free');
    expect(await cli.json('keys', 'inspect', key)).toMatchObject({ id: 1, owner: 'acme' });
    expect(await cli.json('db', 'status')).toMatchObject({ pending: [] });
  });

  test('two at once share the server that one of them has started', async () => {
    const cli = new Cli({ DATA_DIR: dataDir });
    const plan = ['--plan', 'free'];
    await Promise.all([
      cli.json('keys', 'issue', '--owner', 'acme', ...plan),
      cli.json('keys', 'issue', '--owner', 'zoo', ...plan),
    ]);
    expect(await cli.json('owners', 'list')).toHaveLength(2);
  });

  test('leaves the schema to db migrate when MIGRATE_ON_START is false', async () => {
    const cli = new Cli({ DATA_DIR: dataDir, MIGRATE_ON_START: 'false' });
    expect(await cli.failure(1, 'owners', 'list')).toContain('db migrate');
    await cli.json('db', 'migrate');
    expect(await cli.json('owners', 'list')).toEqual([]);
  });
});
