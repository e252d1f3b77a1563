import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inheritedEnvironment } from '../../harness/service/service.js';

const ROOT = join(__dirname, '../../..');

interface Component {
  name: string;
  version: string;
  type: string;
  purl: string;
  licenses: unknown[];
  hashes: { alg: string; content: string }[];
}

interface Sbom {
  metadata: { component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

describe('npm run sbom', () => {
  const output = execFileSync(process.execPath, ['scripts/sbom.mjs'], {
    cwd: ROOT,
    env: inheritedEnvironment(),
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const sbom = JSON.parse(output) as Sbom;
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>;

  test('prints a CycloneDX document of this application', () => {
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: expect.stringMatching(/^1\.\d$/),
    });
    expect(sbom.metadata.component).toMatchObject({
      name: 'animal-adoption-store',
      type: 'application',
    });
  });

  test('lists every production package with version, licence and hash, and no development package', () => {
    const packages = Object.entries(
      (
        JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
          packages: Record<string, { version: string; dev?: boolean }>;
        }
      ).packages,
    );
    const expected = packages
      .filter(([path, { dev }]) => path !== '' && !dev)
      .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`);
    const listed = sbom.components.map(({ name, version }) => `${name}@${version}`);
    expect(listed.sort()).toEqual([...new Set(expected)].sort());
    const names = sbom.components.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(Object.keys({ ...dependencies, ...optionalDependencies })),
    );
    expect(names).not.toContain('jest');
    for (const { purl, licenses, hashes } of sbom.components) {
      expect(purl).toMatch(/^pkg:npm\//);
      expect(licenses.length).toBeGreaterThan(0);
      expect(hashes).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^\w{128}$/) }]);
    }
    const references = sbom.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
    const known = new Set([...listed, 'animal-adoption-store@1.0.0']);
    expect(references.filter((reference) => !known.has(reference))).toEqual([]);
  });
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

  test.each([
    { license: 'MIT' },
    { license: '(GPL-3.0-only OR MIT)' },
    { license: 'Apache-2.0 AND MIT' },
    { license: 'CC-BY-4.0', dev: true },
  ])('succeeds for %o', (entry) => {
    expect(check(entry)).toMatchObject({ status: 0, stderr: '' });
  });

  test.each([
    [{ license: 'GPL-3.0-only' }, '@scope/some@1.2.3 (service): GPL-3.0-only'],
    [{ license: 'MIT AND GPL-3.0-only' }, '@scope/some@1.2.3 (service): MIT AND GPL-3.0-only'],
    [{ license: 'CC-BY-4.0' }, '@scope/some@1.2.3 (service): CC-BY-4.0'],
    [{ license: 'UNLICENSED', dev: true }, '@scope/some@1.2.3 (development): UNLICENSED'],
    [{}, '@scope/some@1.2.3 (service): no licence'],
  ])('fails for %o and names the package', (entry, line) => {
    const { status, stderr } = check(entry);
    expect(status).toBe(1);
    expect(stderr.split('\n')[0]).toBe(line);
  });
});
