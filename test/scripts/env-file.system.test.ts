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
  project = new ProjectCopy('a copy');
  project.build();
  writeFileSync(project.path('.env.example'), '\nDATABASE_URL=\n# LOG_LEVEL=info\n');
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

/** As Windows saves it. */
const UTF_16 = Buffer.from(`\ufeffDATABASE_URL=${ADDRESS}/pets\r\n`, 'utf16le');
const ENCODING = /^.+\.env is not text in UTF-8\n$/;

test.each<
  [title: string, 'start' | 'cli', env: Environment, file: string | Buffer | null, line: RegExp]
>([
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
    'npm start skips a byte order mark',
    'start',
    {},
    `\ufeffDATABASE_URL=${ADDRESS}/pets\n`,
    /^DATABASE_URL: .*\n$/,
  ],
  [
    'npm run cli skips a byte order mark',
    'cli',
    {},
    `\ufeffDATABASE_URL=${ADDRESS}/file\n`,
    UNREACHABLE,
  ],
  ['npm start rejects UTF-16', 'start', {}, UTF_16, ENCODING],
  ['npm run cli rejects UTF-16, big-endian', 'cli', {}, Buffer.from(UTF_16).swap16(), ENCODING],
  ['npm run cli rejects NUL', 'cli', {}, `DATABASE_URL=${ADDRESS}/file\0\n`, ENCODING],
  [
    'npm run cli reports names that .env.example does not list',
    'cli',
    {},
    `DATABASE_URL=${ADDRESS}/pets\nDATABSE_URL=\nLOG_LEVEL=info`,
    /^.+\.env: .env.example does not list DATABSE_URL\nDatabase: .*\nThe database .*\n$/,
  ],
  [
    'npm run cli fails if it cannot be read',
    'cli',
    { LOG_LEVEL: 'loud' },
    null,
    /^\/.+\.env cannot be read: [^\n]+\n$/,
  ],
])('.env in the folder of the project: %s', async (_title, script, env, file, line) => {
  if (file === null) mkdirSync(envFile);
  else writeFileSync(envFile, file);
  const { code, stderr } = await runScript(script, env);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(line) });
  if (line !== UNREACHABLE) return;
  expect(line.exec(stderr)?.[1]).toBe('DATABASE_URL' in env ? 'environment' : 'file');
});
