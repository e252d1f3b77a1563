import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inheritedEnvironment } from '../../harness/service/service.js';

const ROOT = join(__dirname, '../../..');

test('npm run sbom › prints a CycloneDX document with the packages of the service and their hashes', () => {
  const output = execFileSync('npm', ['run', '--silent', 'sbom'], {
    cwd: ROOT,
    env: inheritedEnvironment(),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const sbom = JSON.parse(output) as {
    bomFormat: string;
    components: { name: string; hashes?: { alg: string }[] }[];
  };
  expect(sbom.bomFormat).toBe('CycloneDX');
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>;
  expect(sbom.components.map(({ name }) => name)).toEqual(
    expect.arrayContaining(Object.keys({ ...dependencies, ...optionalDependencies })),
  );
  for (const { name, hashes } of sbom.components) {
    // scripts/nest has no archive.
    expect([name, hashes?.[0]?.alg]).toEqual([name, name === 'nest' ? undefined : 'SHA-512']);
  }
});

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
