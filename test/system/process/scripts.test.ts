import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { freePort } from '../../harness/processes/free-port.js';
import { ProjectCopy } from '../../harness/processes/project-copy.js';
import { type Environment, inheritedEnvironment } from '../../harness/service/service.js';

const ROOT = resolve(__dirname, '../../..');
const SCRIPTS = join(ROOT, 'scripts');
/** Without `dist` and `node_modules`. */
const COPIED = ['src', 'scripts', 'package.json', 'package-lock.json', 'nest-cli.json'];
const COPIED_CONFIGURATION = ['tsconfig.json', 'tsconfig.build.json'];

let folder: string | undefined;
let project: ProjectCopy | undefined;
let service: ChildProcess | undefined;

afterEach(async () => {
  if (service?.kill('SIGTERM')) await once(service, 'exit');
  project?.remove();
  if (folder !== undefined) rmSync(dirname(folder), { recursive: true, force: true });
  [service, project, folder] = [undefined, undefined, undefined];
});

/** Returns the folder of a copy for which Node does not find the packages of this project. */
function copyOutsideOfTheProject(name: string): string {
  const copy = join(mkdtempSync(join(tmpdir(), 'pets-copy-')), name);
  for (const file of [...COPIED, ...COPIED_CONFIGURATION]) {
    cpSync(join(ROOT, file), join(copy, file), { recursive: true });
  }
  return copy;
}

/** Runs Node.js in a folder. The service would reject this LOG_LEVEL. */
function run(cwd: string, ...args: string[]) {
  const env = { ...inheritedEnvironment(), LOG_LEVEL: 'loud' };
  return spawnSync(process.execPath, args, { cwd, env, encoding: 'utf8' });
}

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
    const check = JSON.stringify(join(SCRIPTS, 'check-installation.cjs'));
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

const PACKAGES_ARE_MISSING = 'Packages are missing. Run `npm ci`.\n';

describe.each([['start'], ['cli'], ['dev'], ['build-if-stale']])('scripts/%s.mjs', (script) => {
  test('one line with the remedy before the first npm ci', () => {
    folder = copyOutsideOfTheProject('without packages');
    const { status, stderr } = run(folder, `scripts/${script}.mjs`);
    expect({ status, stderr }).toEqual({ status: 1, stderr: PACKAGES_ARE_MISSING });
  });

  test.each(['dependencies', 'devDependencies'])(
    'one line with the remedy after a pull that adds a package to %s',
    (kind) => {
      project = new ProjectCopy();
      const path = project.path('package.json');
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, text.replace(`"${kind}": {`, `$& "added-by-a-colleague": "1.0.0",`));
      const { status, stderr } = run(project.folder, `scripts/${script}.mjs`);
      expect({ status, stderr }).toEqual({ status: 1, stderr: PACKAGES_ARE_MISSING });
    },
  );
});

test.each([['start'], ['cli', 'keys', 'list']])(
  'npm run %s › one line with the remedy when a package lacks one that it needs',
  (script, ...args) => {
    project = new ProjectCopy();
    mkdirSync(project.path('node_modules/pg'), { recursive: true });
    writeFileSync(project.path('node_modules/pg/index.js'), "require('pg-missing')");
    const env = { ...inheritedEnvironment(), DATABASE_URL: 'postgres://pets@127.0.0.1:1/pets' };
    const { status, stderr } = spawnSync(
      process.execPath,
      [project.path(`scripts/${script}.mjs`), ...args],
      { env, encoding: 'utf8' },
    );
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: "Packages are missing: Cannot find module 'pg-missing'. Run `npm ci`.\n",
    });
  },
);

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

test('npm start › one line with the remedy when development packages and the build are missing', () => {
  folder = copyOutsideOfTheProject('without development packages');
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    dependencies: object;
  };
  for (const name of Object.keys(dependencies)) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), link);
  }
  const { status, stderr } = run(folder, 'scripts/start.mjs');
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      'Cannot build the service: development packages are missing. Run `npm ci` without --omit=dev.\n',
  });
});

test('npm start › builds without an absolute path, and runs, in a folder with letters outside of ASCII', async () => {
  project = new ProjectCopy('ünï cödé 😀');
  rmSync(project.path('dist'), { recursive: true });
  mkdirSync(project.path('src/toys'));
  const dto = 'export class MakerDto { name!: string }';
  const user =
    "import { MakerDto } from './maker.dto.js'; export class ToyDto { maker!: MakerDto }";
  writeFileSync(project.path('src/toys/maker.dto.ts'), dto);
  writeFileSync(project.path('src/toys/toy.dto.ts'), user);

  const child = startScript('start', project);
  await linesOf(child.stdout)('listening');
  const compiled = readdirSync(project.path('dist'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:js|map)$/.test(name) && !name.includes('compressed'))
    .map((name) => readFileSync(join(project!.path('dist'), name), 'utf8'));
  expect(compiled.length).toBeGreaterThan(100);
  expect(compiled.filter((code) => code.includes(ROOT))).toEqual([]);
  const toy = pathToFileURL(project.path('dist/toys/toy.dto.js')).href;
  const program = `import('${toy}').then(({ ToyDto }) =>
    console.log(ToyDto._OPENAPI_METADATA_FACTORY().maker.type().name))`;
  expect(run(ROOT, '-e', program)).toMatchObject({ stdout: 'MakerDto\n', stderr: '' });
}, 240_000);

test.each([
  ['build', 'build-if-stale', /^Building…\nE[A-Z]+: [^\n]+\nThe build failed\.\n$/],
  ['dev', 'dev', /^E[A-Z]+: [^\n]+\n$/],
])(
  'npm run %s › one line when the folder of the build cannot be written',
  (_, script, line) => {
    folder = copyOutsideOfTheProject('read-only');
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'dist'), 'a file in its place');
    const { status, stderr } = run(folder, `scripts/${script}.mjs`);
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(line) });
  },
  120_000,
);

test('GET /health/live, GET /health/ready, the log and pets --version › the version of package.json', async () => {
  project = new ProjectCopy();
  const path = project.path('package.json');
  const changed = readFileSync(path, 'utf8').replace(/"version": ".*"/, '"version": "7.8.9"');
  writeFileSync(path, changed);
  const printed = linesOf(startScript('start', project).stdout);
  const { address, version } = JSON.parse(await printed('listening')) as Record<string, string>;
  const inHealth = async (name: string): Promise<unknown> =>
    ((await (await fetch(`${address}/health/${name}`)).json()) as { version: unknown }).version;
  const command = run(project.folder, 'scripts/cli.mjs', '--version').stdout.trim();
  const versions = [version, await inHealth('live'), await inHealth('ready'), command];
  expect(versions).toEqual(Array(4).fill('7.8.9'));
}, 120_000);

test('npm start › SIGTERM reaches the service, which ends with 0', async () => {
  project = new ProjectCopy();
  service = spawn('npm', ['start'], spawnOptions(project));
  const printed = linesOf(service.stdout!);
  await printed('> exec node scripts/start.mjs');
  await printed('listening');
  const exit = once(service, 'exit');
  service.kill('SIGTERM');
  await printed('stopped');
  expect((await exit)[0]).toBe(0);
}, 120_000);

test('npm start › stack traces name the files of src/', () => {
  const settings = pathToFileURL(join(ROOT, 'dist/platform/config/settings.js')).href;
  const program = `data:text/javascript,import('${settings}').then(({ Settings }) => new Settings())`;
  const start = `import('./scripts/run-built.mjs').then(({ runBuilt }) => runBuilt(\`${program}\`))`;
  expect(run(ROOT, '-e', start).stderr).toMatch(
    /at new Settings \(\S+\/src\/platform\/config\/settings\.ts:/,
  );
});

test('npm run dev -- --inspect › the debugger attaches to the process of the service', async () => {
  project = new ProjectCopy();
  const child = startScript('dev', project, {}, ['--inspect=127.0.0.1:0']);
  const printed = linesOf(child.stderr);
  const line = await printed('Debugger listening on');
  const [, address = ''] = /ws:\/\/([\d.:]+)\//.exec(line) ?? [];
  const targets = (await (await fetch(`http://${address}/json`)).json()) as { url: string }[];
  expect(targets.map(({ url }) => url)).toEqual([pathToFileURL(project.path('dist/main.js')).href]);
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
