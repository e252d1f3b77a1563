import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '../../..');

describe('npm run licences', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'pets-licences-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Checks a project with one package. */
  function check(entry: Record<string, unknown>): { status: number | null; stderr: string } {
    const packages = { '': {}, 'node_modules/@scope/some': { version: '1.2.3', ...entry } };
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages }));
    const args = ['scripts/check-licences.mjs', folder];
    return spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  }

  test.each([{ license: 'MIT' }, { license: 'GPL-3.0-only', dev: true }])(
    'succeeds for %o',
    (entry) => {
      expect(check(entry)).toMatchObject({ status: 0, stderr: '' });
    },
  );

  test.each([
    [{ license: 'GPL-3.0-only' }, '@scope/some@1.2.3: GPL-3.0-only'],
    [{ license: 'MIT AND GPL-3.0-only' }, '@scope/some@1.2.3: MIT AND GPL-3.0-only'],
    [{}, '@scope/some@1.2.3: no licence'],
  ])('fails for %o and names the package', (entry, line) => {
    expect(check(entry)).toMatchObject({ status: 1, stderr: `${line}\n` });
  });
});
