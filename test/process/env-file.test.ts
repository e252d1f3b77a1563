import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resultOf } from '../harness/processes/command.js';
import { ProjectCopy } from '../harness/processes/project-copy.js';
import { type Environment, inheritedEnvironment } from '../harness/service/service.js';

/** A copy, because other tests run in this project's folder at the same time. */
let project: ProjectCopy;
let envFile: string;

beforeAll(() => {
  project = new ProjectCopy();
  envFile = project.path('.env');
});

afterEach(() => rmSync(envFile, { recursive: true, force: true }));
afterAll(() => project.remove());

/** Runs a script of package.json from another folder. No database listens on port 1. */
function runScript(script: 'start' | 'cli', env: Environment = {}) {
  const args = [
    project.path(join('scripts', `${script}.mjs`)),
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
