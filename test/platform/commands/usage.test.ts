import { PRODUCT } from '../../../src/product.js';
import { unknownKey } from '../../harness/database/api-keys.js';
import { Cli } from '../../harness/processes/command.js';

// No server listens on this port. Usage errors need no database.
const cli = new Cli({ DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/pets' });

const ENTERPRISE = 'keys issue --owner a --plan enterprise';
const LIMITS = /--per-minute and --per-day are required with, and require, --plan enterprise/;

test.each<[args: string, line: RegExp]>([
  ['nonsense', /unknown command 'nonsense'/],
  ['keys revok 1', /unknown command 'revok' \(Did you mean revoke\?\)$/],
  ['help keys revok', /unknown command 'revok' \(Did you mean revoke\?\)$/],
  ['help bogus', /unknown command 'bogus'/],
  ['key list', /unknown command 'key' \(Did you mean keys\?\)$/],
  ['keys list --onwer a', /unknown option '--onwer' \(Did you mean --owner\?\)$/],
  ['keys issue --owner a --plan gold', /--plan.*free, pro, business, enterprise/],
  [ENTERPRISE, LIMITS],
  [`${ENTERPRISE} --per-minute 5`, LIMITS],
  ['keys issue --owner a --plan free --per-day 5', LIMITS],
  ['keys issue --owner a --per-minute 5 --per-day 5', LIMITS],
  [`${ENTERPRISE} --per-minute 0 --per-day 5`, /--per-minute.*integer from 1 to/],
  ['keys issue --owner a --expires-in 5x', /--expires-in.*90d or 24h/],
  ['keys list --status gone', /active, banned, expired, revoked, rotated/],
  ['keys rotate abc', /'id'.*that `keys list` shows/],
  ['keys rotate 1 --overlap -1h', /--overlap/],
  ['keys usage 1 --owner a', /the id of a key or --owner, not both/],
  ['keys usage --days 401', /--days.*integer from 1 to 400/],
  ['keys usage --csv --json', /--csv.*cannot be used with.*--json/],
  ['owners usage --csv --json', /--csv.*cannot be used with.*--json/],
  ['keys issue --owner a --read-only --access read', /--read-only.*cannot be used with.*--access/],
  ['keys change 1', /expected --note, --access, --expires-in or --no-expiry/],
  ['keys change 1 --access write', /--access.*read, read-write/],
  ['keys change 1 --no-expiry --expires-in 1d', /--no-expiry.*cannot be used with.*--expires-in/],
  ['keys revoke', /either the id of a key or --owner/],
  ['keys revoke 1 --owner a', /either the id of a key or --owner/],
  ['items seed --items 1e3', /--items.*integer from 1 to/],
])('"%s" exits with 2 and a line with the reason', async (args, line) => {
  expect(await cli.failure(2, ...args.split(' '))).toMatch(line);
});

test.each([
  ['keys usage --days 0', 'keys usage'],
  ['keys rotate', 'keys rotate'],
  ['keys rotate x', 'keys rotate'],
  ['keys rotate 1 2', 'keys rotate'],
  ['keys issue', 'keys issue'],
  ['keys issue --owner a --per-day 5', 'keys issue'],
  ['keys revoke', 'keys revoke'],
  ['keys list --onwer a', 'keys list'],
  ['owners set-plan a --plan gold', 'owners set-plan'],
  ['audit list --limit', 'audit list'],
  ['items seed', 'items seed'],
  ['keys revok 1', 'keys'],
  ['help keys revok', 'keys'],
  ['nonsense', ''],
  ['help nonsense', ''],
  ['--nonsense', ''],
])('"%s" ends with the help of "%s"', async (args, command) => {
  const { stdout } = await cli.run(...command.split(' ').filter(Boolean), '--help');
  const { code, stderr } = await cli.run(...args.split(' '));
  expect([code, stderr.replace(/^[^\n]+\n\n/, '')]).toEqual([2, stdout]);
});

test.each([
  ['keys rotate', '9223372036854775807', '9223372036854775808'],
  ['keys inspect', '9223372036854775807', '9223372036854775808'],
  ['keys rotate 1 --overlap', '36500d', '36501d'],
  ['keys rotate 1 --overlap', '5214w', '5215w'],
  ['keys issue --owner a --expires-in', '3153600000s', '3153600001s'],
  [`${ENTERPRISE} --per-day 1 --per-minute`, '2000000000', '2000000001'],
  ['items seed --yes --items', '100000000', '100000001'],
])('%s accepts %s, and exits with 2 for %s', async (command, max, more) => {
  const args = command.split(' ');
  expect(await cli.failure(1, ...args, max)).toMatch(/^The database cannot be reached/);
  await cli.failure(2, ...args, more);
});

test.each(['', ' ', 'a\nb', '\u202ea', 'n'.repeat(201), `Ann: ${unknownKey()}`])(
  'keys change --note %j exits with 2',
  async (note) => {
    const line = await cli.failure(2, 'keys', 'change', '1', '--note', note);
    expect(line).toMatch(/--note.*(?:1 to 200 characters|must not contain an API key)/);
  },
);

test.each([
  ['keys revoke', /'id'/],
  ['owners usage', /An API key is not the name of an owner/],
  ['keys show', /unknown command/],
])('%s KEY › exits with 2 and does not print the key', async (command, message) => {
  const key = unknownKey();
  const printed = await cli.failure(2, ...command.split(' '), key);
  expect(printed).toMatch(message);
  expect(printed).not.toContain(key.slice(-36, -30));
});

test('without a command, the help is printed, and every command accepts --json', async () => {
  const help = await cli.run('--help');
  const usage = expect.stringMatching(`^Usage: ${PRODUCT.command} `);
  expect(help).toMatchObject({ code: 0, stdout: usage, stderr: '' });
  expect(await cli.run()).toEqual(help);
  for (const command of [
    'keys issue',
    'keys list',
    'keys change',
    'keys rotate',
    'keys revoke',
    'keys unban',
    'keys usage',
    'keys inspect',
    'owners list',
    'owners set-plan',
    'owners rename',
    'owners remove',
    'owners usage',
    'audit list',
    'db migrate',
    'db status',
    'db copy-embedded',
    'items seed',
  ]) {
    const { code, stdout } = await cli.run(...command.split(' '), '--help');
    expect([command, code, stdout]).toEqual([command, 0, expect.stringContaining('--json')]);
    expect((await cli.run('help', ...command.split(' '))).stdout).toBe(stdout);
  }
});

describe('a failed command exits with 1 and one line', () => {
  test('without the password when the database cannot be reached', async () => {
    const { code, stderr } = await cli.run('keys', 'list');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Database: pets on 127\.0\.0\.1:1\nThe database cannot be reached: .*ECONNREFUSED.*\n$/,
    );
    expect(stderr).not.toContain('secret');
  });

  test.each([
    [{ DATABASE_URL: 'mysql://user:secret@localhost/pets' }, /^DATABASE_URL is invalid/],
    [{ DATA_DIR: '/dev/null/data' }, /\/dev\/null\/data/],
  ])('with the settings %j', async (env, message) => {
    const printed = await new Cli(env).failure(1, 'db', 'status');
    expect(printed).toMatch(message);
    expect(printed).not.toContain('secret');
  });
});
