import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resultOf } from '../harness/processes/command.js';
import { NODE } from '../harness/processes/node.js';
import { ProjectCopy } from '../harness/processes/project-copy.js';
import { inheritedEnvironment } from '../harness/service/service.js';

/** A copy, because other tests run in this project's folder at the same time. */
let project: ProjectCopy;

beforeAll(() => {
  project = new ProjectCopy('a copy');
  project.addBuild();
});

afterAll(() => project.remove());

/** Runs a script of package.json from another folder. No database listens on port 1. */
function runScript(script: 'start' | 'cli') {
  const command = ['dist/cli/main.js', 'keys', 'list'];
  const [file = '', ...words] = script === 'cli' ? command : ['dist/main.js'];
  const [node, ...options] = NODE;
  const args = [...options, project.path(file), ...words];
  return resultOf(
    spawn(node, args, {
      cwd: tmpdir(),
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inheritedEnvironment(), PORT: '0', METRICS_PORT: '' },
    }),
  );
}

const ADDRESS = 'postgres://pets@127.0.0.1:1';

test.each(['start', 'cli'] as const)(
  'npm run %s › reads .env in the folder of the project',
  async (script) => {
    writeFileSync(project.path('.env'), `DATABASE_URL=${ADDRESS}/file\n`);
    const { code, stderr } = await runScript(script);
    const line = {
      start: /^DATABASE_URL: .*\n$/,
      cli: /^Database: file on 127\.0\.0\.1:1\nThe database cannot be reached: .*\n$/,
    };
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(line[script]) });
  },
);

test.each(['start', 'cli'] as const)(
  'npm run %s › fails with one line if it cannot read .env',
  async (script) => {
    writeFileSync(project.path('.env'), `\ufeffDATABASE_URL=${ADDRESS}/file`, 'utf16le');
    const { code, stderr } = await runScript(script);
    const line = /^\/.+\.env is not text in UTF-8\n$/;
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(line) });
  },
);
