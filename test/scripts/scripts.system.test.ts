import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { listFiles } from '../../scripts/build.mjs';
import { readProjectFile } from '../harness/stack/compose-file.js';
import { SCHEMA, useDatabase } from '../harness/database/database.js';
import { resultOf } from '../harness/processes/command.js';
import { RawConnection, requestHead } from '../harness/http/raw-connection.js';
import { PACKAGES } from '../harness/run/packages.js';
import { missingSources } from '../harness/run/source-maps.js';
import { ProjectCopy } from '../harness/processes/project-copy.js';
import { type Environment, inheritedEnvironment } from '../harness/service/service.js';

const ROOT = resolve(__dirname, '../..');

const JEST = join(PACKAGES, 'jest/bin/jest.js');

/** The beginning of the message of 401. */
const SENTENCE = 'An API key is required';

const JSON_TYPE = 'Content-Type: application/json';

/** A root with a route that reads a body without an API key. */
const ROOT_MODULE = `
import { Body, Controller, Module, Post } from '@nestjs/common';
import { PlatformModule, Public } from '#platform';
import { PLANS } from './plans.js';
import { PRODUCT } from './product.js';

@Controller('notes')
class NotesController {
  @Public()
  @Post()
  add(@Body() note: unknown) {
    return note;
  }
}

@Module({ imports: [PlatformModule.forRoot({ product: PRODUCT, plans: PLANS })], controllers: [NotesController] })
export class AppModule {}
`;

const database = useDatabase(SCHEMA);
let project: ProjectCopy | undefined;
let service: ChildProcess | undefined;

afterEach(async () => {
  if (service?.kill('SIGTERM')) await once(service, 'exit');
  project?.remove();
  service = undefined;
  project = undefined;
});

/** As of two containers that share a checkout: processes in both have the same number. */
const CONTAINER =
  process.platform === 'linux' && process.getuid?.() === 0
    ? ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
    : [];

test('npm run cli and npx pets › need no earlier build and no scripts of npm before it, and two at the same time do not disturb each other', async () => {
  project = new ProjectCopy();
  const npm = { npm_config_ignore_scripts: 'true', npm_config_update_notifier: 'false' };
  const env = { ...inheritedEnvironment(), ...npm };
  const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
  const commands = ['npm run --silent cli -- --version', 'npx pets --version'].map((line) => {
    const [command = '', ...args] = [...CONTAINER, ...line.split(' ')];
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    return resultOf(spawn(command, args, { cwd: project!.folder, stdio: [...stdio], env }));
  });
  // The copy has no folder .git.
  const stdout = `${version} (commit unknown, unknown)\n`;
  const result = { code: 0, stdout, stderr: '' };
  expect(await Promise.all(commands)).toEqual([result, result]);
  expect(brokenSourceMaps(project)).toEqual([]);
});

test('npm run cli › writes nothing if the build is current, also if a source has a new time', () => {
  project = new ProjectCopy();
  project.addBuild();
  // A copy of the project has files with new times, in any order.
  const inAMinute = new Date(Date.now() + 60_000);
  fs.utimesSync(project.path('src/product.ts'), inAMinute, inAMinute);
  const before = timesOf(project.folder);
  const folderChangedMs = fs.statSync(project.folder).mtimeMs;
  const args = [project.path('scripts/cli.mjs'), '--version'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(timesOf(project.folder)).toEqual(before);
  // Nothing was created and removed again either.
  expect(fs.statSync(project.folder).mtimeMs).toBe(folderChangedMs);
});

/** Returns the files of a folder with the times at which they were written. */
const timesOf = (folder: string) =>
  listFiles(folder).map((name) => `${name} ${fs.statSync(join(folder, name)).mtimeMs}`);

const HEALTH = 'src/platform/health/health.controller.ts';

/** Loaded by Node.js, lets each rename of scripts/start.mjs fail once. */
const HELD = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const { renameSync } = fs;
  const failed = new Set();
  fs.renameSync = (from, to) => {
    if (!process.argv[1]?.endsWith('start.mjs') || failed.has(to)) return renameSync(from, to);
    failed.add(to);
    throw Object.assign(new Error('EPERM: operation not permitted, rename'), { code: 'EPERM' });
  };
  syncBuiltinESMExports();`;

test('npm start, npm run cli and npm run openapi › build again after a change of the source, also if it is older than the build, in a folder with letters outside of ASCII and characters of patterns, stacks contain the lines of the sources, and SIGTERM stops the service; the build repeats what a virus scanner prevents on Windows, and removes what interrupted builds left', async () => {
  project = new ProjectCopy('ünï (cödé) [1] {a} ! + 😀');
  project.addBuild();
  const built = listFiles(project.path('dist')).sort();
  fs.writeFileSync(project.path('dist/removed.js'), '');
  const left = ['dist/main.js.0123abcd.new', '.dist-Ab12Cd/main.js'];
  const running = ['dist/main.js.4567cdef.new', '.dist-Ef34Gh/main.js'];
  for (const name of [...left, ...running]) {
    fs.mkdirSync(dirname(project.path(name)), { recursive: true });
    fs.writeFileSync(project.path(name), '');
  }
  // A folder has no time of its files.
  for (const name of [...left, '.dist-Ab12Cd']) fs.utimesSync(project.path(name), 0, 0);
  const file = project.path('src/product.ts');
  const lines = [
    'function fail() {',
    "  console.error(new Error('changed').stack);",
    '}',
    'fail();',
  ];
  fs.appendFileSync(file, lines.map((line) => `${line}\n`).join(''));
  // A file that is restored from a backup has its old time.
  fs.utimesSync(file, new Date(0), new Date(0));
  const lineNumber = fs.readFileSync(file, 'utf8').split('\n').length - 1;
  const frames = [`${file}:${lineNumber - 2}`, `${file}:${lineNumber}`];

  const held = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(HELD)}` };
  const starting = start(project, ['npm', '--silent', 'start'], held);
  await expectFrames(starting, frames);
  await starting.printed('listening');
  starting.child.kill('SIGTERM');
  await starting.printed('stopped');
  await starting.closed;

  expect(left.filter((name) => fs.existsSync(project!.path(name)))).toEqual([]);
  expect(running.filter((name) => !fs.existsSync(project!.path(name)))).toEqual([]);
  fs.rmSync(project.path(running[0]!));
  expect(listFiles(project.path('dist')).sort()).toEqual(built);
  const code = built
    .filter((name) => name.endsWith('.js'))
    .map((name) => fs.readFileSync(join(project!.path('dist'), name), 'utf8'));
  expect(code.filter((text) => text.includes(ROOT))).toEqual([]);
  expect(brokenSourceMaps(project)).toEqual([]);

  // The new build is current.
  const times = timesOf(project.path('dist'));
  for (const command of [scriptOf('openapi'), scriptOf('cli', '--version')]) {
    const running = start(project, command);
    await expectFrames(running, frames);
    await running.closed;
  }
  expect(timesOf(project.path('dist'))).toEqual(times);
  expect(fs.existsSync(project.path('openapi.yaml'))).toBe(true);
}, 240_000);

/** Expects the stack of the changed source on standard error. */
async function expectFrames({ child }: ReturnType<typeof start>, frames: string[]): Promise<void> {
  const failed = linesOf(child.stderr);
  await failed('Error: changed');
  for (const frame of frames) expect(await failed(' at ')).toContain(frame);
}

test('npm run dev › each way to save a file leads to a new response, also right after the first build, and SIGTERM ends everything, also during a restart', async () => {
  project = new ProjectCopy('ünï (cödé) [1]');
  fs.writeFileSync(project.path('src/app.module.ts'), ROOT_MODULE);
  const { child, printed, closed } = start(project, ['npm', 'run', 'dev']);
  const catalogue = project.path('src/platform/errors/catalogue.ts');
  const extra = project.path('src/platform/errors/extra.ts');
  const original = fs.readFileSync(catalogue, 'utf8');
  const versions: [title: string, save: () => void][] = [
    ['saved early', () => fs.writeFileSync(catalogue, textOf('saved early'))],
    [
      'added',
      () => {
        fs.writeFileSync(extra, "export const TEXT = 'added';\n");
        rename(
          catalogue,
          `import { TEXT } from './extra.js';\n${original.replace(SENTENCE, '${TEXT}').replace(/'(\$\{TEXT\}[^']*)'/, '`$1`')}`,
        );
      },
    ],
    [
      'deleted and repaired',
      () => {
        fs.rmSync(extra);
        fs.writeFileSync(catalogue, 'syntax error');
        // Other editors write a new file, and rename it.
        rename(catalogue, textOf('deleted and repaired'));
      },
    ],
  ];
  const textOf = (word: string) => original.replace(SENTENCE, word);
  const rename = (path: string, text: string) => {
    fs.writeFileSync(`${path}~`, text);
    fs.renameSync(`${path}~`, path);
  };
  await printed('Running');
  // swc has read this file, and its watcher has not begun.
  while (!fs.existsSync(project.path('dist/platform/errors/catalogue.js'))) await setTimeout(5);
  let line = '';
  const message = async () => (await fetch(`${addressIn(line)}/v1/nothing`)).text();
  for (const [word, save] of versions) {
    save();
    // A save of two files may start the service twice.
    do line = await printed('listening');
    while (!(await message()).includes(`"message":"${word}`));
  }
  expect(fs.existsSync(project.path('dist/platform/errors/extra.js'))).toBe(false);
  // The service waits for the body, so that it is still stopping when the Nest CLI restarts it.
  const head = requestHead('POST /v1/notes', undefined, JSON_TYPE, 'Content-Length: 9');
  const port = Number(new URL(addressIn(line)).port);
  const unfinished = await RawConnection.open({ port }, head);
  await message();
  child.kill('SIGTERM');
  await printed('SIGTERM');
  rename(catalogue, original);
  await closed;
  unfinished.close();
  await expect(message()).rejects.toThrow('fetch failed');
}, 600_000);

test('npm start › without development packages, runs the build that exists, with a warning if a source was renamed or a file of the build is missing, or says how to build', () => {
  project = new ProjectCopy();
  const build = project.path('scripts/build.mjs');
  const text = fs.readFileSync(build, 'utf8');
  // The packages of the project are found from the copy.
  fs.writeFileSync(
    build,
    text.replace("isInstalled('@nestjs/cli')", "isInstalled('@nestjs/none')"),
  );
  const run = () => spawnSync(process.execPath, [build], { encoding: 'utf8' });
  expect(run()).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^[^\n]*--include=dev[^\n]*\n$/),
  });
  project.addBuild();
  const current = { status: 0, stderr: '' };
  const warning = {
    status: 0,
    stderr: expect.stringMatching(/^Warning: [^\n]*--include=dev[^\n]*\n$/),
  };
  expect(run()).toMatchObject(current);
  // With the packages, they lead to a new build.
  for (const name of [HEALTH, 'dist/product.js']) {
    fs.renameSync(project.path(name), project.path(`${name}-renamed.ts`));
    expect({ name, ...run() }).toMatchObject({ name, ...warning });
    fs.renameSync(project.path(`${name}-renamed.ts`), project.path(name));
    expect({ name, ...run() }).toMatchObject({ name, ...current });
  }
});

test('npm test › leaves out *.system.test.ts and *.nightly.test.ts, which have commands of their own, wherever the checkout is', () => {
  project = new ProjectCopy('test/a.system.test.ts/ünï (cödé) [1] {a} ! + 😀');
  const quick = ['src/toys/a.spec.ts', 'test/toys/a.test.ts'];
  const system = ['test/b.system.test.ts', 'test/toys/b.system.test.ts'];
  const nightly = ['test/toys/c.nightly.test.ts'];
  fs.mkdirSync(project.path('examples'));
  const harness = 'test/harness/run';
  fs.cpSync(join(ROOT, harness), project.path(harness), { recursive: true });
  for (const file of [...quick, ...system, ...nightly].map((name) => project!.path(name))) {
    fs.mkdirSync(dirname(file), { recursive: true });
    fs.writeFileSync(file, '');
  }
  const list = ([command, ...args]: Command): string[] => {
    const env = { ...process.env, PATH: `${join(PACKAGES, '.bin')}:${process.env['PATH']}` };
    const options = { cwd: project!.folder, encoding: 'utf8', env } as const;
    const { stdout } = spawnSync(command, [...args, '--listTests'], options);
    return stdout
      .trim()
      .split('\n')
      .filter((line) => line.endsWith('.ts'))
      .map((path) => relative(project!.folder, path).replaceAll('\\', '/'))
      .sort();
  };
  expect(list(scriptOf('test'))).toEqual(quick);
  expect(list(scriptOf('test:system', 'test/toys'))).toEqual([system[1]]);
  expect(list([process.execPath, JEST])).toEqual([...quick, ...system, ...nightly].sort());
});

type Command = readonly [command: string, ...args: string[]];

/** Returns the command of a script of package.json with arguments, as npm runs it. npm itself would need more CPU time than most scripts. */
function scriptOf(name: string, ...args: string[]): Command {
  const { scripts } = JSON.parse(readProjectFile('package.json')) as {
    scripts: Record<string, string>;
  };
  return ['sh', '-c', `${scripts[name]} "$@"`, 'sh', ...args];
}

/** Returns the sources in the source maps of the build that do not exist. */
function brokenSourceMaps(project: ProjectCopy): string[] {
  const dist = project.path('dist');
  const maps = listFiles(dist).filter((name) => name.endsWith('.map'));
  expect(maps.length).toBeGreaterThan(100);
  return maps.flatMap((name) =>
    missingSources(join(dist, name.replace(/\.map$/, '')), basename(name)),
  );
}

/** Starts the service, which `afterEach` stops. Returns what `linesOf` returns. */
function start({ folder }: ProjectCopy, [command, ...args]: Command, more: Environment = {}) {
  const settings = { PORT: '0', METRICS_PORT: '', DATABASE_URL: database.url };
  // No script asks a proxy for what runs on this machine (Node.js 24).
  const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' };
  const env = { ...inheritedEnvironment(), ...settings, ...proxy, ...more };
  const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env });
  child.stderr.pipe(process.stderr);
  service = child;
  return { child, closed: once(child, 'close'), printed: linesOf(child.stdout) };
}

const addressIn = (line: string) => (JSON.parse(line) as { address: string }).address;

/** Returns a function that returns the next line with a text. */
function linesOf(stream: Readable): (text: string) => Promise<string> {
  const lines = createInterface(stream)[Symbol.asyncIterator]();
  return async (text) => {
    for (;;) {
      const next = await lines.next();
      if (next.done) throw new Error(`not printed: ${text}`);
      if (next.value.includes(text)) return next.value;
    }
  };
}
