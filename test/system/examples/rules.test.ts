import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(__dirname, '../../..');
const EXAMPLES = join(ROOT, 'examples');
const MIGRATION = /^\d+-.*\.ts$/;

/** The examples that are feature modules. */
const FEATURES = readdirSync(EXAMPLES).filter((name) =>
  readdirSync(join(EXAMPLES, name)).includes(`${name}.module.ts`),
);

let project: string;

beforeAll(() => {
  mkdirSync(join(ROOT, 'reports'), { recursive: true });
  // In the project's folder, so that the packages are found.
  project = mkdtempSync(join(ROOT, 'reports', 'features-'));
  for (const name of ['src', 'package.json', 'tsconfig.json', '.dependency-cruiser.js']) {
    cpSync(join(ROOT, name), join(project, name), { recursive: true });
  }
  for (const feature of FEATURES) addToSource(feature);
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

/** Copies a feature to where docs/extending.md puts it. */
function addToSource(feature: string): void {
  for (const name of readdirSync(join(EXAMPLES, feature))) {
    const folder = MIGRATION.test(name) ? 'platform/database/migrations' : feature;
    cpSync(join(EXAMPLES, feature, name), join(project, 'src', folder, name), { recursive: true });
  }
}

test('the examples keep the dependency rules of a feature when they are in src/', async () => {
  expect(FEATURES).toContain('categories');
  const depcruise = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const args = [depcruise, '--config', '.dependency-cruiser.js', 'src', '--output-type', 'json'];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: project,
    maxBuffer: 2 ** 28,
  });

  const { modules, summary } = JSON.parse(stdout) as {
    modules: { source: string }[];
    summary: { violations: unknown[] };
  };
  const sources = modules.map(({ source }) => source);
  for (const feature of FEATURES) expect(sources).toContain(`src/${feature}/${feature}.module.ts`);
  expect(summary.violations).toEqual([]);
}, 120_000);
