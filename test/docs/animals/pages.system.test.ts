import * as fs from 'node:fs';
import { join } from 'node:path';
import { useDatabase } from '../../harness/database/database.js';
import { ANIMAL_BLOCKS, isAnimalsCommand } from '../../harness/pages/animal-blocks.js';
import { findBlock, sessionOf } from '../../harness/pages/command-blocks.js';
import { brokenLinks, markdownFiles } from '../../harness/pages/links.js';
import {
  endShells,
  openShell,
  Operator,
  temporaryFolder,
  untilReady,
} from '../../harness/pages/reader.js';
import { hasNamespaces } from '../../harness/pages/shell.js';
import { NODE } from '../../harness/processes/node.js';
import { makeCluster } from '../../harness/processes/embedded-user.js';
import { inheritedEnvironment, TEAM_MAIN } from '../../harness/service/service.js';
import { addPets, newAnimalsCsv } from '../../harness/database/animals.js';

// The blocks of commands of the pages that need the animals, word for word. test/docs/commands.system.test.ts runs the others.

afterEach(endShells);

(hasNamespaces ? test : test.skip)(
  'README.md and docs/clients.md › the requests of a client',
  async () => {
    const { tryIt, client, authenticate, ...requests } = ANIMAL_BLOCKS;
    const folder = temporaryFolder();
    const shell = openShell(folder, inheritedEnvironment(), true);
    await shell.run('the folders', 'mkdir store client && chmod 755 store && cd store');
    fs.mkdirSync(join(folder, 'store/.data'));
    await makeCluster(join(folder, 'store/.data'));
    await shell.run('the service', untilReady(`env DATA_DIR=.data ${NODE.join(' ')} ${TEAM_MAIN}`));
    for (const [command, expected] of sessionOf(tryIt)) {
      expect((await shell.run(tryIt, command)).trim()).toBe(expected);
    }
    await shell.run('the folder of the client', 'cd ../client');
    await shell.run(client);
    await shell.run('the demo key', 'API_KEY=$(cat ../store/.data/demo-key)');
    expect(await shell.run(authenticate)).toMatch(/^\[\{"id":1,/);
    const outputs = new Map<string, string>();
    for (const [name, block] of Object.entries(requests)) {
      outputs.set(name, await shell.run(block));
    }
    expect([...outputs.values()].join('\n')).not.toContain('"code"');
    expect(outputs.get('refresh')).toBe('200\n304\n');
    expect(outputs.get('addInt64')).toContain('"categoryId":9223372036854775807');
    expect(outputs.get('limits')).toMatch(/^ratelimit: "minute";/im);
    await shell.run('the end of the service', 'kill -TERM -- -$service; wait $service || true');
  },
  300_000,
);

describe('docs/commands.md', () => {
  const database = useDatabase();

  test('each command of the animals', async () => {
    await addPets(database, [{ id: 42 }, { id: 43, status: 'pending' }]);
    const operator = await Operator.on(database, {}, { app: true });
    fs.writeFileSync(join(operator.folder, 'animals.csv'), newAnimalsCsv());
    const block = findBlock('docs/commands.md', 'pets keys issue');
    const lines = block.code.split('\n').filter(isAnimalsCommand);
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) {
      const result = operator.run(block, line);
      if (line.startsWith('pets animals remove')) {
        await expect(result).rejects.toThrow(/Confirm with --yes/);
      } else await result;
    }
  }, 240_000);
});

test('every link of the pages to a file of the animals leads to one that exists', () => {
  expect(markdownFiles().flatMap(brokenLinks)).toEqual([]);
});
