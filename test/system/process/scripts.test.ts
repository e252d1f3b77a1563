import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { freePort } from '../../harness/processes/free-port.js';
import { ProjectCopy } from '../../harness/processes/project-copy.js';
import { type Environment, inheritedEnvironment } from '../../harness/service/service.js';

const ROOT = resolve(__dirname, '../../..');

let project: ProjectCopy | undefined;
let service: ChildProcess | undefined;

afterEach(async () => {
  if (service?.kill('SIGTERM')) await once(service, 'exit');
  project?.remove();
  [service, project] = [undefined, undefined];
});

test('npx pets › runs a command without an earlier build', () => {
  project = new ProjectCopy();
  rmSync(project.path('dist'), { recursive: true });
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string;
  };
  const cwd = project.folder;
  const npx = spawnSync('npx', ['pets', '--version'], { cwd, encoding: 'utf8' });
  expect(npx).toMatchObject({ status: 0, stdout: `${version}\n` });
}, 120_000);

test('npm start › builds the service again after a change of the source, and runs it, in a folder with letters outside of ASCII', async () => {
  project = new ProjectCopy('ünï cödé 😀');
  const file = project.path('src/platform/health/health.controller.ts');
  appendFileSync(file, 'export const changed = 1;\n');
  await linesOf(startScript('start', project).stdout)('listening');
  const built = readdirSync(project.path('dist'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(join(project!.path('dist'), name), 'utf8'));
  expect(built.some((code) => code.includes('changed = 1'))).toBe(true);
  expect(built.filter((code) => code.includes(ROOT))).toEqual([]);
}, 240_000);

test('npm start › SIGTERM reaches the service, which ends with 0', async () => {
  project = new ProjectCopy();
  service = spawn('npm', ['start'], spawnOptions(project));
  const printed = linesOf(service.stdout!);
  await printed('> exec node ');
  await printed('listening');
  const exit = once(service, 'exit');
  service.kill('SIGTERM');
  await printed('stopped');
  expect((await exit)[0]).toBe(0);
}, 120_000);

test('npm run dev › restarts the service after a change that compiles', async () => {
  project = new ProjectCopy();
  const port = await freePort();
  const child = startScript('dev', project, { PORT: String(port) });
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

function spawnOptions({ folder, dataDir }: ProjectCopy, env: Environment = {}) {
  const settings = { PORT: '0', METRICS_PORT: '', DATA_DIR: join(dataDir, 'data'), ...env };
  return {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'],
    env: { ...inheritedEnvironment(), ...settings },
  };
}

/** Starts a script, which `afterEach` stops. */
function startScript(name: string, copy: ProjectCopy, env?: Environment, args: string[] = []) {
  const command = [`scripts/${name}.mjs`, ...args];
  const child = spawn(process.execPath, command, spawnOptions(copy, env));
  service = child;
  return child;
}

/** Returns a function that returns the next line with a text, after the line of its last call. */
function linesOf(...streams: Readable[]): (text: string) => Promise<string> {
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
        waiting.delete(look);
        resolve(lines.splice(0, index + 1).at(-1) ?? '');
      };
      waiting.add(look);
      look();
    });
}
