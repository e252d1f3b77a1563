import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.js';
import { parseDuration, parseLifetime } from '../../src/cli/commands/option-values.js';
import { Cli, resultOf } from '../harness/processes/command.js';

const MAIN = join(__dirname, '../../dist/cli/main.js');

// No server listens on this port. Usage errors need no database.
const cli = new Cli({ DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/pets' });

const ENTERPRISE = 'keys issue --owner a --plan enterprise';

const USAGE_ERRORS: readonly (readonly [args: string, line: RegExp])[] = [
  ['keys', /^Missing command\. Run `pets keys --help`\.$/],
  ['nonsense', /^Unknown command 'nonsense'\. Run `pets --help`\.$/],
  ['kyes list', /Unknown command 'kyes' \(Did you mean keys\?\)/],
  ['keys isue', /Unknown command 'isue' \(Did you mean issue\?\)/],
  ['--verison', /Unknown option '--verison' \(Did you mean --version\?\)/],
  ['keys list --jsno', /Unknown option '--jsno' \(Did you mean --json\?\)/],
  ['keys issue --onwer a', /'--owner <name>' not specified/],
  ['keys list --nonsense', /Unknown option '--nonsense'/],
  ['keys list extra', /Too many arguments/],
  ['keys issue --plan free', /'--owner <name>' not specified/],
  ['keys issue --owner= --plan free', /--owner.*1 to 255 characters/],
  ['keys issue --owner a --plan gold', /--plan.*free, pro, business, enterprise/],
  ['keys issue --owner a --plan enterprise', /requires --per-minute and --per-day/],
  ['keys issue --owner a --plan enterprise --per-minute 5', /requires --per-minute and --per-day/],
  ['keys issue --owner a --plan free --per-day 5', /require --plan enterprise/],
  ['keys issue --owner a --per-minute 5 --per-day 5', /require --plan enterprise/],
  [`${ENTERPRISE} --per-minute 0 --per-day 5`, /--per-minute.*integer from 1 to/],
  [`${ENTERPRISE} --per-minute 5 --per-day 2000000001`, /--per-day.*integer from 1 to/],
  ['keys issue --owner a --expires-in 0', /--expires-in/],
  ['keys issue --owner a --expires-in 5x', /--expires-in.*90d, 24h, 30m/],
  ['keys issue --owner a --expires-in 1.5h', /--expires-in/],
  ['keys issue --owner a --expires-in 36501d', /--expires-in.*36500d/],
  ['keys rotate', /Missing required argument 'id'/],
  ['keys rotate abc', /'id'/],
  ['keys rotate 1 --overlap -1h', /--overlap/],
  ['keys rotate 1 --overlap soon', /--overlap/],
  ['keys revoke 0', /'id'/],
  ['keys revoke 01', /'id'/],
  ['keys revoke 9223372036854775808', /'id'/],
  ['keys unban 1e3', /'id'/],
  ['keys inspect', /Missing required argument 'key-or-id'/],
  ['keys inspect 0', /'key-or-id'/],
  ['owners set-plan --plan pro', /Missing required argument 'name'/],
  ['owners set-plan acme', /'--plan <plan>' not specified/],
  ['db seed', /'--animals <n>' not specified/],
  ['db seed --animals 0', /--animals.*integer from 1 to/],
  ['db seed --animals 1e3', /--animals/],
];

/** Runs a command with a usage error in this process. Returns the line that it prints. */
async function usageError(...args: string[]): Promise<string> {
  const { stderr, ...rest } = await new Cli().run(...args);
  expect(rest).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^[^\n]+\n$/);
  return stderr.trimEnd();
}

describe('a usage error', () => {
  test.each(USAGE_ERRORS)(
    '"%s" exits with 2 and prints one line with the reason and a hint',
    async (args, line) => {
      const printed = await usageError(...args.split(' ').filter((arg) => arg !== ''));
      expect(printed).toMatch(line);
      expect(printed).toContain('--help');
    },
  );

  test('does not print a key that was given instead of its id', async () => {
    const key = 'aas_BCboKxlId1O3srGhGNVbucB7NiLAJc1Q9r5F';
    const printed = await cli.failure(2, 'keys', 'revoke', key);
    expect(printed).toMatch(/'id'.*--help/);
    expect(printed).not.toContain('BCbo');
  });

  test.each([
    ['owners', 'usage'],
    ['owners', 'set-plan', '--plan', 'pro'],
    ['keys', 'list', '--owner'],
    ['keys', 'issue', '--plan', 'pro', '--owner'],
    ['audit', 'list', '--owner'],
  ])('rejects a key as the name of an owner, without printing it: %s %s', async (...args) => {
    const printed = await cli.failure(2, ...args, 'aas_BCboKxlId1O3srGhGNVbucB7NiLAJc1Q9r5F');
    expect(printed).toMatch(/An API key is not the name of an owner/);
    expect(printed).not.toContain('BCbo');
  });

  test.each([
    ['a tab', 'a\tb'],
    ['an escape sequence', 'a\u001b[31m'],
    ['a right-to-left override', 'a\u202eb'],
    ['a zero-width joiner', 'a\u200db'],
    ['a line separator', 'a\u2028b'],
    ['a private character', 'a\ue000b'],
    ['256 characters', 'x'.repeat(256)],
    ['only white space', '  '],
  ])('the name of an owner cannot have %s', async (_, name) => {
    const printed = await usageError('keys', 'issue', '--owner', name);
    expect(printed).toContain('1 to 255 characters');
    // Nothing that controls the terminal is repeated.
    expect(printed.trim()).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});

describe('the maximum of an option', () => {
  test.each([
    ['keys rotate', '9223372036854775807', '9223372036854775808'],
    ['keys revoke', '9223372036854775807', '9223372036854775808'],
    ['keys unban', '9223372036854775807', '9223372036854775808'],
    ['keys inspect', '9223372036854775807', '9223372036854775808'],
    ['keys rotate 1 --overlap', '36500d', '36501d'],
    ['keys issue --owner a --expires-in', '36500d', '36501d'],
    ['keys issue --owner a --expires-in', '876000h', '876001h'],
    ['keys issue --owner a --expires-in', '52560000m', '52560001m'],
    ['keys issue --owner a --expires-in', '3153600000s', '3153600001s'],
    [`${ENTERPRISE} --per-day 1 --per-minute`, '2000000000', '2000000001'],
    [`${ENTERPRISE} --per-minute 1 --per-day`, '2000000000', '2000000001'],
    ['db seed --animals', '100000000', '100000001'],
  ])('%s accepts %s, and exits with 2 for %s', async (command, max, more) => {
    const args = command.split(' ');
    expect(await cli.failure(1, ...args, max)).toMatch(/^The database cannot be reached/);
    await usageError(...args, more);
  });
});

/** Returns the words of every command below a command, groups included. */
function pathsBelow(command: Command, path: string[] = []): string[][] {
  return command.commands.flatMap((child) => {
    const words = [...path, child.name()];
    return [words, ...pathsBelow(child, words)];
  });
}

const COMMANDS = pathsBelow(createProgram());
const ACTIONS = COMMANDS.filter((words) => words.length > 1);

/** Returns the command with these words, or its group if there is none. */
function commandOf(words: readonly string[]): Command {
  return words.reduce<Command>(
    (command, word) => command.commands.find((child) => child.name() === word) ?? command,
    createProgram(),
  );
}

/** Runs a command that has to succeed in this process. Returns its standard output. */
async function outputOf(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Cli().run(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

describe('help', () => {
  test('without a command, prints the help of the program', async () => {
    const help = await outputOf();
    expect(help).toMatch(/^Usage: pets [^]*\nExamples:\n {2}pets keys issue /);
    expect(await outputOf('--help')).toBe(help);
    expect(await outputOf('help')).toBe(help);
  });

  test.each(COMMANDS.map((words) => words.join(' ')))(
    '"%s --help" prints the help, with valid examples and every required option marked',
    async (path) => {
      const help = await outputOf(...path.split(' '), '--help');
      expect(help).toMatch(new RegExp(`^Usage: pets ${path} `));
      const [, examples = ''] = help.split('\nExamples:\n');
      const lines = examples.trim().split('\n');
      for (const line of lines) {
        expect(line.trim()).toMatch(new RegExp(`^pets ${path}`));
        const named = commandOf(line.trim().split(' ').slice(1));
        expect(named.commands).toEqual([]);
        const options = named.options.map(({ long }) => long);
        for (const [option] of line.matchAll(/--[a-z-]+/g)) expect(options).toContain(option);
      }
    },
  );

  test.each([
    ['keys issue', '--owner <name>'],
    ['owners set-plan', '--plan <plan>'],
    ['db seed', '--animals <n>'],
  ])('"%s" marks %s as required', async (path, option) => {
    expect(await outputOf(...path.split(' '), '--help')).toMatch(
      new RegExp(`${option} +\\(required\\)`),
    );
    expect(await usageError(...path.split(' '), ...(path === 'owners set-plan' ? ['a'] : []))).toBe(
      `Required option '${option}' not specified. Run \`pets ${path} --help\`.`,
    );
  });

  test('bash completes commands and options', async () => {
    const { stdout } = await new Cli().run('completion', 'bash');
    const script = `pets() { '${process.execPath}' '${MAIN}' "$@"; }
      ${stdout}
      COMP_WORDS=(pets audit list --s); COMP_CWORD=3; _pets; echo "\${COMPREPLY[@]}"
      COMP_WORDS=(pets keys ''); COMP_CWORD=2; _pets; echo "\${COMPREPLY[@]}"`;
    expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' })).toBe(
      '--since\nissue list rotate revoke unban inspect\n',
    );
  });

  test('a process writes all of it before it exits', async () => {
    const { stdout } = await new Cli().run('keys', '--help');
    const child = cli.start('keys', '--help');
    expect(await resultOf(child)).toEqual({ code: 0, stdout, stderr: '' });
  });

  test.each(ACTIONS)('"%s %s" accepts --json', async (...words) => {
    expect(await outputOf(...words, '--help')).toContain('--json');
  });
});

test('--version prints the version of the package', async () => {
  const file = readFileSync(join(__dirname, '../../package.json'), 'utf8');
  const { version } = JSON.parse(file) as { version: string };
  expect(await cli.run('--version')).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
});

describe('a duration', () => {
  test.each([
    ['90d', 90 * 24 * 3_600_000],
    ['24h', 24 * 3_600_000],
    ['30m', 1_800_000],
    ['45s', 45_000],
  ])('%s is parsed to milliseconds', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
    expect(parseLifetime(text)).toBe(ms);
  });
});

describe('a failed command', () => {
  test('exits with 1 and one line without the password when the database cannot be reached', async () => {
    const { code, stderr } = await cli.run('keys', 'list');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Database: pets on 127\.0\.0\.1:1\nThe database cannot be reached: .*ECONNREFUSED.*\n$/,
    );
    expect(stderr).not.toContain('secret');
  });

  test('exits with 1 and one line when a setting is invalid', async () => {
    const invalid = new Cli({ DATABASE_URL: 'mysql://user:secret@localhost/pets' });
    const printed = await invalid.failure(1, 'owners', 'list');
    expect(printed).toMatch(/^DATABASE_URL is invalid/);
    expect(printed).not.toContain('secret');
  });

  test('exits with 1 and one line when the embedded database cannot be created', async () => {
    const misplaced = new Cli({ DATA_DIR: '/dev/null/data' });
    expect(await misplaced.failure(1, 'db', 'status')).toContain('/dev/null/data');
  });
});
