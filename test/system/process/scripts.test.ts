import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { PRODUCT } from '../../../src/product.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';
import { ProjectCopy } from '../../harness/processes/project-copy.js';
import { inheritedEnvironment } from '../../harness/service/service.js';

const ROOT = resolve(__dirname, '../../..');

let project: ProjectCopy | undefined;
let service: ChildProcess | undefined;

afterEach(async () => {
  if (service?.kill('SIGTERM')) await once(service, 'exit');
  project?.remove();
  [service, project] = [undefined, undefined];
});

test('npm run cli and npx COMMAND › need neither an earlier build nor an installation', () => {
  project = new ProjectCopy();
  rmSync(project.path('dist'), { recursive: true });
  const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
  for (const command of [
    'npm run --silent cli -- --version',
    `npx --yes=false ${PRODUCT.command} --version`,
  ]) {
    const run = spawnSync(command, { cwd: project.folder, encoding: 'utf8', shell: true });
    expect(run).toMatchObject({ status: 0, stdout: `${version}\n` });
  }
}, 120_000);

test('npm start › builds the service again after a change of the source, and runs it, in a folder with letters outside of ASCII', async () => {
  project = new ProjectCopy('ünï cödé 😀');
  const file = project.path('src/platform/health/health.controller.ts');
  appendFileSync(file, 'export const changed = 1;\n');
  await start(project, process.execPath, 'scripts/start.mjs').printed('listening');
  const built = readdirSync(project.path('dist'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(join(project!.path('dist'), name), 'utf8'));
  expect(built.some((code) => code.includes('changed = 1'))).toBe(true);
  expect(built.filter((code) => code.includes(ROOT))).toEqual([]);
}, 240_000);

test('npm start › SIGTERM reaches the service, which ends with 0', async () => {
  project = new ProjectCopy();
  const { child, printed } = start(project, 'npm', 'start');
  await printed('> exec node ');
  await printed('listening');
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await printed('stopped');
  expect((await exit)[0]).toBe(0);
}, 120_000);

/** Starts the service, which `afterEach` stops. Returns what `linesOf` returns. */
function start({ folder, dataDir }: ProjectCopy, command: string, ...args: string[]) {
  const settings = { PORT: '0', METRICS_PORT: '', DATA_DIR: join(dataDir, 'data') };
  const env = { ...inheritedEnvironment(), ...settings };
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'], env });
  service = child;
  return { child, printed: linesOf(child.stdout) };
}

/** Returns a function that returns when a line has a text, after the line of its last call. */
function linesOf(stream: Readable): (text: string) => Promise<void> {
  const lines = createInterface(stream)[Symbol.asyncIterator]();
  return async (text) => {
    for (let line = ''; !line.includes(text);) {
      const next = await lines.next();
      if (next.done) throw new Error(`not printed: ${text}`);
      line = next.value;
    }
  };
}
