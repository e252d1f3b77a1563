import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { readProjectFile } from '../../harness/stack/compose-file.js';

const ROOT = join(__dirname, '../../..');

interface Job {
  strategy?: { matrix: { node: string[] } };
  container?: { image: string };
  'timeout-minutes': number;
  steps: { uses?: string; run?: string }[];
}

const workflow = load(readProjectFile('.github/workflows/ci.yml')) as {
  permissions: object;
  jobs: Record<string, Job>;
};

test('the workflow runs all checks on the oldest supported and the recommended version of Node.js', () => {
  const { engines } = JSON.parse(readProjectFile('package.json')) as { engines: { node: string } };
  const { strategy, container, steps } = workflow.jobs['checks']!;
  const versions = strategy?.matrix.node ?? [];
  const oldest = /^\^(\d+\.\d+)/.exec(engines.node)?.[1];
  expect(versions[0]).toBe(oldest);
  expect(versions).toContain(readProjectFile('.nvmrc').trim());
  expect(container?.image).toBe('node:${{ matrix.node }}-bookworm');
  expect(steps.map(({ run }) => run)).toContain('.ci/run');
});

test('the workflow has only the right to read, time limits, and actions with a version', () => {
  expect(workflow.permissions).toEqual({ contents: 'read' });
  for (const job of Object.values(workflow.jobs)) {
    expect(job['timeout-minutes']).toBeGreaterThan(0);
    for (const { uses } of job.steps) if (uses !== undefined) expect(uses).toMatch(/@v\d+$/);
  }
});

test('every script of the workflow exists and is executable', () => {
  const commands = Object.values(workflow.jobs).flatMap(({ steps }) =>
    steps.flatMap(({ run = '' }) => run.match(/^(?:\.ci|scripts)\/\S+/gm) ?? []),
  );
  expect(commands.sort()).toEqual(['.ci/run', 'scripts/release.sh']);
  for (const command of commands) expect(existsSync(join(ROOT, command))).toBe(true);
});

test('Dependabot updates packages, images and actions', () => {
  const { version, updates } = load(readProjectFile('.github/dependabot.yml')) as {
    version: number;
    updates: { 'package-ecosystem': string; directory: string; schedule: object }[];
  };
  expect(version).toBe(2);
  expect(updates.map((update) => update['package-ecosystem'])).toEqual([
    'npm',
    'docker',
    'docker-compose',
    'github-actions',
  ]);
  for (const { directory, schedule } of updates) {
    expect([directory, schedule]).toEqual(['/', { interval: 'weekly' }]);
  }
  // Dependabot would otherwise add the addresses of a registry, which .ci/run rejects.
  expect(readProjectFile('.npmrc')).toMatch(/^omit-lockfile-registry-resolved=true$/m);
});

const forms = readdirSync(join(ROOT, '.github/ISSUE_TEMPLATE')).filter(
  (file) => file !== 'config.yml',
);
test.each(forms)(
  'the issue form %s has a name, a description, and questions with unique ids',
  (file) => {
    const { name, description, body } = load(readProjectFile(`.github/ISSUE_TEMPLATE/${file}`)) as {
      name: string;
      description: string;
      body: { type: string; id?: string; attributes: { label?: string; options?: string[] } }[];
    };
    expect([name, description]).toEqual([expect.any(String), expect.stringMatching(/\.$/)]);
    const questions = body.filter(({ type }) => type !== 'markdown');
    const ids = questions.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    for (const { id, type, attributes } of questions) {
      expect(id).toMatch(/^[a-z]+$/);
      expect(['textarea', 'input', 'dropdown']).toContain(type);
      expect(attributes.label).toMatch(/\S/);
      expect(type === 'dropdown').toBe(attributes.options !== undefined);
    }
  },
);
