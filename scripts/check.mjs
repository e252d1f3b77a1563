// @ts-check
// Checks what has changed since a base, `main` by default: formatting, lint, types, dependency rules,
// openapi.yaml, and the tests of the changed folders. CI checks everything.
// Usage: npm run check -- [--base REF]
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { testsOf } from './changed-tests.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const LINTED = /\.(?:ts|mjs|cjs|js)$/;

const { values } = parseArgs({ options: { base: { type: 'string' } } });
const changed = changedFiles(values.base ?? defaultBase());
const linted = changed.filter((file) => LINTED.test(file));
const tests = testsOf(changed);
process.stdout.write(`${changed.length} changed files. Tests: ${tests.join(' ')}\n`);

// The static checks share the processors. The tests need them to themselves.
const passed = [
  ...(await Promise.all([
    run('formatting', 'prettier', ['--check', '--ignore-unknown', ...changed], changed.length > 0),
    run('lint', 'eslint', linted, linted.length > 0),
    run('types', 'tsc', ['-p', 'tsconfig.json']),
    run('dependency rules', 'depcruise', ['--config', '.dependency-cruiser.js', 'src']),
  ])),
  await run('build', process.execPath, ['scripts/build-if-stale.mjs']),
];
// A failed build leaves the previous one, which would be tested.
if (passed.at(-1)) {
  passed.push(await isDescriptionCurrent(), await run('tests', 'jest', ['--forceExit', ...tests]));
}
process.exitCode = passed.every(Boolean) ? 0 : 1;

/** @returns {string} */
function defaultBase() {
  for (const base of ['main', 'origin/main']) {
    try {
      git('rev-parse', '--verify', '--quiet', base);
      return base;
    } catch {
      // Try the next branch.
    }
  }
  throw new Error('The branch main does not exist. Pass the branch to compare with: --base BRANCH');
}

/** @param {string} base @returns {string[]} the files that differ and still exist */
function changedFiles(base) {
  const ancestor = git('merge-base', 'HEAD', base).trim();
  const committed = git('diff', '--name-only', '-z', ancestor);
  const added = git('ls-files', '--others', '--exclude-standard', '-z');
  const files = `${committed}${added}`.split('\0').filter((file) => file !== '');
  return [...new Set(files)].filter((file) => existsSync(join(ROOT, file)));
}

/** @param {...string} args */
function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
}

/** @returns {Promise<boolean>} */
async function isDescriptionCurrent() {
  const { openapiFile } = await import('#dist/platform/openapi-file.js');
  const { PetsModule } = await import('#dist/pets/pets.module.js');
  const expected = await openapiFile([PetsModule]);
  const isCurrent = readFileSync(join(ROOT, 'openapi.yaml'), 'utf8') === expected;
  return report('openapi.yaml', isCurrent, 'It is out of date. Run npm run openapi.\n');
}

/**
 * Runs a program of the packages and prints its output if it fails.
 *
 * @param {string} name of the check
 * @param {string} program
 * @param {string[]} args
 * @param {boolean} isNeeded
 * @returns {Promise<boolean>} whether it succeeded
 */
async function run(name, program, args, isNeeded = true) {
  if (!isNeeded) return true;
  const path = `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env['PATH']}`;
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  const code = await new Promise((settle) => {
    child.once('error', (error) => {
      output += error.message;
      settle(1);
    });
    child.once('close', settle);
  });
  return report(name, code === 0, output);
}

/**
 * @param {string} name
 * @param {boolean} isPassed
 * @param {string} details printed if the check failed
 */
function report(name, isPassed, details) {
  const seconds = process.uptime().toFixed(0);
  process.stdout.write(`${isPassed ? 'passed' : 'FAILED'}  ${name} (after ${seconds} s)\n`);
  if (!isPassed) process.stdout.write(`${details}\n`);
  return isPassed;
}
