import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resultOf } from '../harness/processes/command.js';
import { type Environment, inheritedEnvironment } from '../harness/service/service.js';

const ROOT = join(__dirname, '../..');
/** The packages that the bundle does not contain. */
const PACKAGES = ['pino', 'pino-pretty', 'swagger-ui-dist'];

let project: string;
let envFile: string;

beforeAll(() => {
  // A copy, because other tests run in this project's folder at the same time.
  project = realpathSync(mkdtempSync(join(tmpdir(), 'project-')));
  envFile = join(project, '.env');
  for (const name of ['package.json', 'scripts', join('dist', 'bundle')])
    cpSync(join(ROOT, name), join(project, name), { recursive: true });
  mkdirSync(join(project, 'node_modules'));
  for (const name of PACKAGES)
    symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name));
});

afterEach(() => rmSync(envFile, { recursive: true, force: true }));
afterAll(() => rmSync(project, { recursive: true, force: true }));

/** Runs a script of package.json from another folder. No database listens on port 1. */
function runScript(script: 'start' | 'cli', env: Environment = {}) {
  const args = [
    join(project, 'scripts', `${script}.mjs`),
    ...(script === 'cli' ? ['keys', 'list'] : []),
  ];
  return resultOf(
    spawn(process.execPath, args, {
      cwd: tmpdir(),
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inheritedEnvironment(), ...env },
    }),
  );
}

describe.each([
  [
    'npm run cli',
    'cli',
    /^Database: (\w+) on 127\.0\.0\.1:1\nThe database cannot be reached: .*\n$/,
  ],
  ['npm start', 'start', /^DATABASE_URL: .*\n$/],
] as const)('%s', (_, script, line) => {
  test('reads settings from .env in the folder of the project', async () => {
    writeFileSync(envFile, '# Production\nDATABASE_URL=postgres://pets@127.0.0.1:1/from_file\n');
    const { code, stderr } = await runScript(script);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(line) });
    if (script === 'cli') expect(line.exec(stderr)?.[1]).toBe('from_file');
  });

  test('prefers the variables of the environment', async () => {
    writeFileSync(envFile, 'DATABASE_URL=mysql://from_file\nLOG_LEVEL=loud\n');
    const { code, stderr } = await runScript(script, {
      DATABASE_URL: 'postgres://pets@127.0.0.1:1/from_environment',
      LOG_LEVEL: 'info',
    });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(line) });
    if (script === 'cli') expect(line.exec(stderr)?.[1]).toBe('from_environment');
  });

  test('needs no .env', async () => {
    const { code, stderr } = await runScript(script, { LOG_LEVEL: 'loud' });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^LOG_LEVEL is invalid/),
    });
  });

  test('exits with 1 and one line when .env cannot be read', async () => {
    mkdirSync(envFile);
    const { code, stderr } = await runScript(script, { LOG_LEVEL: 'loud' });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^\S+\.env cannot be read: [^\n]+\n$/),
    });
  });
});
