import { spawnSync } from 'node:child_process';
import { useDatabase } from '../../../harness/database/database.js';
import { Cli, PROGRAM } from '../../../harness/processes/command.js';
import { NODE } from '../../../harness/processes/node.js';
import { inheritedEnvironment } from '../../../harness/service/service.js';

const database = useDatabase();
const hasTerminal = spawnSync('script', ['--version']).status === 0;
if (!hasTerminal)
  console.warn('To test files on a terminal, install script of util-linux (bsdutils).');

(hasTerminal ? test : test.skip)(
  'items export › on a terminal, a name cannot change what it shows; a file has the exact name',
  async () => {
    const name = 'a\u001b[31m\u009b\u202eb';
    await database.query('INSERT INTO test_items (name, category_id, status) VALUES ($1, 1, $2)', [
      name,
      'available',
    ]);
    const env = { ...inheritedEnvironment(), DATABASE_URL: database.url };
    const program = `${NODE.map((word) => `'${word}'`).join(' ')} '${PROGRAM}' items export`;
    const shown = (command: string) =>
      spawnSync('script', ['-qec', command, '/dev/null'], { env, encoding: 'utf8' }).stdout;
    for (const format of ['csv', 'ndjson']) {
      const text = shown(`${program} --format ${format}`);
      expect(text).toContain(String.raw`a\u001b[31m\u009b\u202eb`);
      expect(['\u001b', '\u009b', '\u202e'].filter((each) => text.includes(each))).toEqual([]);
    }
    expect((await Cli.on(database).run('items', 'export')).stdout).toContain(name);
  },
);
