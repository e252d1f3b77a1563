import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { freePort } from '../../harness/processes/free-port.js';
import { ProjectCopy } from '../../harness/processes/project-copy.js';
import { inheritedEnvironment } from '../../harness/service/service.js';

const SCRIPTS = resolve(__dirname, '../../../scripts');

let project: ProjectCopy | undefined;
let service: ChildProcess | undefined;

afterEach(async () => {
  if (service?.kill('SIGTERM')) await once(service, 'exit');
  project?.remove();
  [service, project] = [undefined, undefined];
});

describe.each([
  ['14.21.3', false],
  ['20.18.3', false],
  ['21.7.3', false],
  ['22.11.0', false],
  ['20.19.0', true],
  ['22.12.0', true],
  ['24.0.0', true],
])('npm start on Node.js %s', (version, isSupported) => {
  test(isSupported ? 'goes on' : 'ends with one line that says what to install', () => {
    const check = JSON.stringify(join(SCRIPTS, 'check-node.cjs'));
    const program = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); require(${check})`;
    const { status, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual(
      isSupported
        ? { status: 0, stderr: '' }
        : {
            status: 1,
            stderr: `Node.js ${version} is not supported. Install Node.js 24 (LTS), or at least 20.19 or 22.12.\n`,
          },
    );
  });
});

test('npm start › one line with the remedy when development packages and the build are missing', () => {
  project = new ProjectCopy();
  rmSync(project.path('dist'), { recursive: true });
  const { status, stderr } = spawnSync(process.execPath, ['scripts/start.mjs'], {
    cwd: project.folder,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      'Cannot build the service: development packages are missing. Run `npm ci` without --omit=dev.\n',
  });
});

test('npm run dev › restarts the service after a change that compiles', async () => {
  project = new ProjectCopy();
  const port = await freePort();
  const child = spawn(process.execPath, ['scripts/dev.mjs'], {
    cwd: project.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...inheritedEnvironment(),
      ...{ PORT: String(port), METRICS_PORT: '', DATA_DIR: join(project.dataDir, 'data') },
    },
  });
  service = child;
  const printed = linesOf(child.stdout, child.stderr);
  const live = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/health/live`)).status;

  await printed('listening');
  const file = project.path('src/platform/health/health.controller.ts');
  const original = readFileSync(file, 'utf8');

  appendFileSync(file, "const count: number = 'one';\n");
  await printed("Type 'string' is not assignable to type 'number'");
  expect(await live()).toBe(200);

  writeFileSync(file, `${original}// changed\n`);
  await printed('stopped');
  await printed('listening');
  expect(await live()).toBe(200);
}, 240_000);

/** Returns a function that waits for a line with a text, after the line of its last call. */
function linesOf(...streams: Readable[]): (text: string) => Promise<void> {
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  for (const stream of streams) {
    createInterface(stream).on('line', (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  }
  return (text) =>
    new Promise((resolve) => {
      const look = (): void => {
        const index = lines.findIndex((line) => line.includes(text));
        if (index < 0) return;
        lines.splice(0, index + 1);
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
}
