import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resultOf } from '../harness/processes/command.js';
import { ProjectCopy } from '../harness/processes/project-copy.js';
import { type Environment, inheritedEnvironment } from '../harness/service/service.js';

/** A copy, because other tests run in this project's folder at the same time. */
let project: ProjectCopy;
let envFile: string;

beforeAll(() => {
  project = new ProjectCopy();
  project.build();
  envFile = project.path('.env');
});

afterEach(() => rmSync(envFile, { recursive: true, force: true }));
afterAll(() => project.remove());

/** Runs a script of package.json from another folder. No database listens on port 1. */
function runScript(script: 'start' | 'cli', env: Environment = {}) {
  const command = ['dist/cli/main.js', 'keys', 'list'];
  const [file = '', ...words] = script === 'cli' ? command : ['dist/main.js'];
  const args = [project.path(file), ...words];
  return resultOf(
    spawn(process.execPath, args, {
      cwd: tmpdir(),
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inheritedEnvironment(), ...env },
    }),
  );
}

const ADDRESS = 'postgres://pets@127.0.0.1:1';
const UNREACHABLE = /^Database: (\w+) on 127\.0\.0\.1:1\nThe database cannot be reached: .*\n$/;

test.each<[title: string, 'start' | 'cli', env: Environment, file: string | null, line: RegExp]>([
  [
    'npm start reads it',
    'start',
    {},
    `# Production\nDATABASE_URL=${ADDRESS}/pets\n`,
    /^DATABASE_URL: .*\n$/,
  ],
  ['npm run cli reads it', 'cli', {}, `DATABASE_URL=${ADDRESS}/file\n`, UNREACHABLE],
  [
    'npm run cli prefers the variables of the environment',
    'cli',
    { DATABASE_URL: `${ADDRESS}/environment`, LOG_LEVEL: 'info' },
    'DATABASE_URL=mysql://from_file\nLOG_LEVEL=loud\n',
    UNREACHABLE,
  ],
  [
    'npm run cli fails if it cannot be read',
    'cli',
    { LOG_LEVEL: 'loud' },
    null,
    /^\S+\.env cannot be read: [^\n]+\n$/,
  ],
])('.env in the folder of the project: %s', async (_title, script, env, file, line) => {
  if (file === null) mkdirSync(envFile);
  else writeFileSync(envFile, file);
  const { code, stderr } = await runScript(script, env);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(line) });
  if (line !== UNREACHABLE) return;
  expect(line.exec(stderr)?.[1]).toBe('DATABASE_URL' in env ? 'environment' : 'file');
});
