import * as fs from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { blocksOf } from '../harness/pages/command-blocks.js';
import { endShells, openShell, temporaryFolder } from '../harness/pages/reader.js';
import { createRepository } from '../harness/pages/repository.js';
import { PACKAGES } from '../harness/run/packages.js';
import { inheritedEnvironment } from '../harness/service/service.js';

const hasShelters = fs.existsSync(resolve(__dirname, '../../src/shelters'));
/** Instead of all checks, which take minutes. */
const CHECK = 'npx eslint src/shelters test/shelters && npm run typecheck';

afterEach(endShells);

test('docs/tutorial.md › each step, from the first test to the commit', async () => {
  const folder = temporaryFolder();
  createRepository(folder);
  fs.symlinkSync(PACKAGES, join(folder, 'node_modules'));
  const user = ['AUTHOR', 'COMMITTER'].flatMap((role) => [
    [`GIT_${role}_NAME`, 'a'],
    [`GIT_${role}_EMAIL`, 'a@example.org'],
  ]);
  const env = { ...inheritedEnvironment(), ...(Object.fromEntries(user) as object) };
  const shell = openShell(folder, env);

  let tests = 0;
  for (const each of blocksOf('docs/tutorial.md')) {
    const code = each.code.replace('npm run check', CHECK);
    // A team may have a feature with the name of the page.
    const own = hasShelters
      ? code.replaceAll('shelter', 'gizmo').replaceAll('Shelter', 'Gizmo')
      : code;
    if (each.language === 'ts') {
      const [, path = '', text = ''] = /^\/\/ (\S+)\n([^]*)$/.exec(own) ?? [];
      const file = join(folder, path);
      fs.mkdirSync(dirname(file), { recursive: true });
      fs.writeFileSync(file, text);
    } else if (own.startsWith('npx jest') && tests++ === 0) {
      await expect(shell.run(each, own)).rejects.toThrow('404');
    } else await shell.run(each, own);
  }
  expect(await shell.run('the commit', 'git status --porcelain && git log --oneline')).toMatch(
    /^\w+ feat\(\w+\): list and add \w+\n\w+ files\n$/,
  );
}, 900_000);
