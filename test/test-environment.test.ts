import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import jestConfig from '../jest.config.js';

const JEST = createRequire(__filename).resolve('jest/bin/jest');

/** What a test file does in its only test. */
const FILES = {
  clean: `const { createServer, connect } = require('net');
    const server = createServer((socket) => socket.end()).listen(0);
    await new Promise((done) => server.once('listening', done));
    const socket = connect(server.address().port).resume();
    socket.once('end', () => server.close());
    require('child_process').spawn('sleep', ['60']);
    setTimeout(() => undefined, 60_000).unref();`,
  timer: 'setTimeout(() => undefined, 60_000);',
  server: `require('net').createServer().listen(0);`,
  failed: `setTimeout(() => undefined, 1_000); throw new Error('own error');`,
};

interface FileResult {
  name: string;
  message: string;
}

test('a test file whose tests pass fails if it leaves something open', () => {
  const rootDir = mkdtempSync(join(tmpdir(), 'environment-'));
  for (const [name, code] of Object.entries(FILES)) {
    writeFileSync(join(rootDir, `${name}.test.js`), `test('a', async () => {${code}});`);
  }
  const testEnvironment = join(__dirname, './harness/run/environment.mjs');
  const config = JSON.stringify({ rootDir, testEnvironment, transform: {} });
  const args = [JEST, '--config', config, '--json', '--maxWorkers', '4'];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  rmSync(rootDir, { recursive: true });

  const { testResults } = JSON.parse(stdout) as { testResults: FileResult[] };
  const messageOf = (file: string) =>
    testResults.find(({ name }) => name.endsWith(`${file}.test.js`))?.message;
  expect(messageOf('clean')).toBe('');
  expect(messageOf('timer')).toContain('The test file has left open: Timeout');
  expect(messageOf('server')).toContain('The test file has left open: TCP');
  expect(messageOf('failed')).toContain('own error');
  expect(messageOf('failed')).not.toContain('left open');
});

test.each([
  ['/a/node_modules/@nestjs/core/index.js', true],
  ['/a/node_modules/.pnpm/@nestjs+core@12.5.1_ab/node_modules/@nestjs/core/index.js', true],
  ['/a/node_modules/.store/p-retry@7.1.1-ab/node_modules/p-retry/index.js', true],
  ['/a/node_modules/@nestjs/cli/node_modules/ora/index.js', false],
  ['/a/node_modules/.pnpm/pg@8.23.1/node_modules/pg/lib/index.js', false],
])('Jest compiles packages that are ES modules, wherever they are: %s %s', (path, isCompiled) => {
  for (const { transformIgnorePatterns } of jestConfig.projects as {
    transformIgnorePatterns: string[];
  }[]) {
    const isIgnored = transformIgnorePatterns.some((pattern) => new RegExp(pattern).test(path));
    expect(isIgnored).toBe(!isCompiled);
  }
});
