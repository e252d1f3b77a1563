import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cli, TEAM_PROGRAM } from '../harness/processes/command.js';
import { makeFolder } from '../harness/processes/embedded-user.js';
import { newAnimalsCsv } from './animal.js';

test('commands use the embedded database without the demo data of the service, and animals remove asks', async () => {
  const folder = makeFolder();
  const cli = new Cli({ DATA_DIR: folder }, {}, TEAM_PROGRAM);
  const file = join(folder, 'animals.csv');
  writeFileSync(file, newAnimalsCsv());
  await cli.json('db', 'migrate');
  expect(await cli.json('animals', 'import', file)).toMatchObject({ added: 1, firstId: 1 });
  expect(await cli.json('keys', 'list')).toEqual([]);
  // This database may have real data too.
  expect(await cli.failure(1, 'animals', 'remove', '1')).toMatch(/Confirm with --yes/);
  const { json, stderr } = await cli.run('animals', 'remove', '1', '--yes', '--json');
  expect(json).toMatchObject([{ id: 1 }]);
  expect(stderr).toMatch(/This removes 1 "Frank" from embedded in /);
});
