// @ts-check
// Proves that the tests of the platform notice when a promise is broken: applies each mutant of mutants.txt to a copy of the project, and
// runs the test file that must fail. `npm run test:mutants -- TEXT` runs only the lines that contain the text.
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

const ROOT = resolve(import.meta.dirname, '..');
const JEST = createRequire(import.meta.url).resolve('jest/bin/jest');
const SEPARATOR = ' | ';

/** @typedef {{ line: string, file: string, content: string, mutated: string, test: string }} Mutant */

/** @param {string} wanted a part of the lines to be returned @returns {Mutant[]} */
function readMutants(wanted) {
  const lines = readFileSync(join(import.meta.dirname, 'mutants.txt'), 'utf8').split('\n');
  const chosen = lines.filter((line) => /^[^#]/.test(line) && line.includes(wanted));
  return chosen.map((line) => {
    const [name = '', original = '', replacement = '', test = '', ...rest] = line.split(SEPARATOR);
    if (!test || rest.length > 0) throw new Error(`A mutant has four columns: ${line}`);
    const file = `src/${name}`;
    const content = readFileSync(join(ROOT, file), 'utf8');
    const parts = content.split(original);
    if (parts.length !== 2)
      throw new Error(`The text stands ${parts.length - 1} times in its file: ${line}`);
    return { line, file, content, mutated: parts.join(replacement), test: `test/${test}` };
  });
}

/** Copies the project, without what Git ignores. It lies in the project, so that Node.js finds the packages. */
function copyProject() {
  mkdirSync(join(ROOT, 'reports'), { recursive: true });
  const copy = mkdtempSync(join(ROOT, 'reports', 'mutants-'));
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of files.filter(Boolean)) cpSync(join(ROOT, file), join(copy, file));
  return copy;
}

const mutants = readMutants(process.argv[2] ?? '');
const copy = copyProject();
// The cluster of PostgreSQL that the runs share. The embedded server runs as another user, who must reach the folder.
const folder = mkdtempSync(join(tmpdir(), 'mutants-'));
chmodSync(folder, 0o755);

/** Runs test files in the copy. Returns the failed tests, undefined if a file could not run. @param {string[]} files */
async function failedTests(files) {
  const child = spawn(
    process.execPath,
    [JEST, '--config', 'jest.config.js', '--json', '--forceExit', ...files],
    {
      cwd: copy,
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  try {
    /** @type {import('@jest/test-result').FormattedTestResults} */
    const { testResults, numTotalTests, numRuntimeErrorTestSuites } = JSON.parse(output);
    const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
    if (numRuntimeErrorTestSuites === 0 && numTotalTests > 0)
      return tests.filter(({ status }) => status === 'failed');
  } catch {
    // Without a result, Jest says why below.
  }
  console.error(errors);
  return undefined;
}

try {
  const tests = [...new Set(mutants.map(({ test }) => test))];
  const failed = await failedTests(tests);
  if (failed?.length !== 0) {
    for (const { failureMessages } of failed ?? []) console.error(failureMessages?.join('\n'));
    const names = failed?.map(({ fullName }) => fullName);
    throw new Error(`Without a mutant, these tests fail: ${names?.join(', ')}`);
  }
  let survivors = 0;
  for (const { line, file, content, mutated, test } of mutants) {
    writeFileSync(join(copy, file), mutated);
    const [noticed] = (await failedTests([test])) ?? [];
    writeFileSync(join(copy, file), content);
    if (!noticed) survivors++;
    console.log(noticed ? `noticed ${line} | ${noticed.fullName}` : `SURVIVED ${line}`);
  }
  console.log(`${mutants.length - survivors} of ${mutants.length} mutants were noticed.`);
  if (survivors > 0 || mutants.length === 0) process.exitCode = 1;
} finally {
  for (const path of [copy, folder]) rmSync(path, { recursive: true, force: true });
}
