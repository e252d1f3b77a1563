import { validateWorkflow } from '@action-validator/core';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { readProjectFile } from '../../harness/stack/compose-file.js';

const WORKFLOWS = '.github/workflows';
const FILES = readdirSync(join(__dirname, '../../..', WORKFLOWS));

interface Step {
  run?: string;
  uses?: string;
  with?: Record<string, unknown>;
}
interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, { needs?: string; permissions?: Record<string, string>; steps: Step[] }>;
}

const errorsOf = (text: string): unknown[] => validateWorkflow(text).errors;

describe.each(FILES)(`${WORKFLOWS}/%s`, (file) => {
  const text = readProjectFile(join(WORKFLOWS, file));

  test('follows the schema of GitHub, which finds a wrong key, permission and need', () => {
    expect(errorsOf(text)).toEqual([]);
    expect(errorsOf(text.replace('runs-on:', 'run-on:'))).not.toEqual([]);
    expect(errorsOf(text.replace('contents: read', 'contents: some'))).not.toEqual([]);
    const [, job = ''] = /^ {2}(\w+):\n {4}(?:name|uses):/m.exec(text) ?? [];
    expect(errorsOf(text.replace(`  ${job}:\n`, `$&    needs: nothing\n`))).not.toEqual([]);
  });

  test('has no right by default except to read, and pins each action to a major version', () => {
    expect((load(text) as Workflow).permissions).toEqual({ contents: 'read' });
    const actions = [...text.matchAll(/uses: (?!\.\/)(.+)/g)].map(([, action]) => action);
    expect(actions.filter((action) => !/^(?:actions|docker)\/[\w-]+@v\d+$/.test(action!))).toEqual(
      [],
    );
  });
});

describe('release.yml', () => {
  const { jobs } = load(readProjectFile(`${WORKFLOWS}/release.yml`)) as Workflow;
  const { needs, permissions, steps } = jobs['release']!;
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'pets-release-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs the step that checks the version. Returns the text of the release. */
  function checkVersion(tag: string, version: string, changelog: string) {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }));
    writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
    const { run = '' } = steps.find(({ run }) => run?.includes('CHANGELOG.md')) ?? {};
    const env = { PATH: process.env['PATH'], GITHUB_REF_NAME: tag };
    // As GitHub runs a step.
    const args = ['--noprofile', '--norc', '-e', '-o', 'pipefail', '-c', run];
    const { status, stderr } = spawnSync('bash', args, { cwd: folder, env, encoding: 'utf8' });
    return status === 0
      ? readFileSync(join(folder, 'release-notes.md'), 'utf8').trim()
      : stderr.trim();
  }

  test('publishes an image with an SBOM and provenance after all checks, with two rights', () => {
    expect(needs).toBe('checks');
    expect(permissions).toEqual({ contents: 'write', packages: 'write' });
    const image = steps.find(({ uses }) => uses?.startsWith('docker/build-push-action@'));
    expect(image?.with).toMatchObject({ push: true, sbom: true, provenance: 'mode=max' });
  });

  test('the text of the release is the section of its version', () => {
    const changelog = '# C\n\n## [Unreleased]\n\n## [1.2.0] - 2026-12-01\n\n### Added\n\n- A.\n\n';
    const older = '## [1.2.00] - 2026-11-02\n\n- B.\n\n## [1.0.0] - 2026-11-01\n\n- C.\n';
    expect(checkVersion('v1.2.0', '1.2.0', changelog + older)).toBe('### Added\n\n- A.');
    expect(checkVersion('v1.0.0', '1.0.0', changelog + older)).toBe('- C.');
  });

  test.each([
    ['v1.2.0', '1.1.0', '', 'The tag is v1.2.0, but package.json has the version 1.1.0.'],
    [
      'v1.2.0',
      '1.2.0',
      '## [Unreleased]\n- A\n',
      'CHANGELOG.md has no section "## [1.2.0] - DATE" with a text.',
    ],
    [
      'v1.2.0',
      '1.2.0',
      '## [1.2.0] - 2026-12-01\n\n## [1.1.0] - 2026-11-01\n- B\n',
      'CHANGELOG.md has no section "## [1.2.0] - DATE" with a text.',
    ],
  ])(
    'the tag %s with the version %s and the changelog %j is rejected',
    (tag, version, changelog, line) => {
      expect(checkVersion(tag, version, changelog)).toBe(line);
    },
  );

  test('CHANGELOG.md has a section for the version of package.json, in the form that the workflow reads', () => {
    const changelog = readProjectFile('CHANGELOG.md');
    const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
    const headings = changelog.match(/^## .*$/gm) ?? [];
    expect(headings.shift()).toBe('## [Unreleased]');
    for (const heading of headings)
      expect(heading).toMatch(/^## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$/);
    expect(headings[0]).toContain(`[${version}]`);
    expect(checkVersion(`v${version}`, version, changelog)).toMatch(/^### \w+\n\n- /);
  });
});
