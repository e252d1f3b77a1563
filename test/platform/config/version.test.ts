import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const BUILT = join(__dirname, '../../../reports/product/src/platform/config/version.js');

test('a start in a checkout runs git once, and does not wait for it', () => {
  const root = mkdtempSync(join(tmpdir(), 'checkout-'));
  try {
    for (const folder of ['.git', 'bin', 'src/platform/config'])
      mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, 'package.json'), '{"version":"1.2.3","type":"module"}');
    cpSync(BUILT, join(root, 'src/platform/config/version.js'));
    // Ends when the process that has started it goes on.
    const git =
      'echo run >> runs\nuntil [ -e go ]; do sleep 0.01; done\necho 0123456789abcdef today\n';
    writeFileSync(join(root, 'bin/git'), `#!/bin/sh\n${git}`);
    chmodSync(join(root, 'bin/git'), 0o755);
    const start = `
      import { writeFileSync } from 'node:fs';
      import { currentBuild } from './src/platform/config/version.js';
      const builds = [currentBuild('.'), currentBuild('.')];
      writeFileSync('go', '');
      console.log(JSON.stringify([...await Promise.all(builds), await currentBuild('.')]));`;
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', start], {
      cwd: root,
      env: { PATH: `${join(root, 'bin')}:${process.env['PATH']}` },
      encoding: 'utf8',
    });
    const build = { version: '1.2.3', commit: '0123456789ab', commitDate: 'today' };
    expect(JSON.parse(printed)).toEqual([build, build, build]);
    expect(readFileSync(join(root, 'runs'), 'utf8')).toBe('run\n');
  } finally {
    rmSync(root, { recursive: true });
  }
});
