import { existsSync } from 'node:fs';
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
