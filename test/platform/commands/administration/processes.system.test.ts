// Commands whose subject is the process: its terminal, its pipes, its clock and its end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { Cli, PROGRAM, resultOf } from '../../../harness/processes/command.js';
import { NODE } from '../../../harness/processes/node.js';
import { runInTerminal } from '../../../harness/processes/terminal.js';
import { inheritedEnvironment } from '../../../harness/service/service.js';

const [node, ...options] = NODE;
const ISSUE = ['keys', 'issue', '--owner', 'acme', '--plan', 'free'];

const database = useDatabase();
const cli = Cli.on(database);

beforeEach(() => database.empty('api_keys', 'owners', 'operator_actions'));

/** Runs a command whose reader has closed its pipe. */
async function unread(...args: string[]) {
  const child = cli.start(...args);
  child.stdout.destroy();
  const { code, stderr } = await resultOf(child);
  return { code, lines: stderr.trimEnd().split('\n').slice(1) };
}

test('a new API key that cannot be printed is a failure, because it is lost', async () => {
  const lost = (cause: string) => [
    expect.stringMatching(
      `^The result cannot be printed \\(.*${cause}.*\\)\\. Revoke the new API key \\d+, because it is lost\\.$`,
    ),
  ];
  expect(await unread(...ISSUE)).toEqual({ code: 1, lines: lost('EPIPE') });
  expect(await unread('keys', 'rotate', '1')).toEqual({ code: 1, lines: lost('EPIPE') });
  const full = openSync('/dev/full', 'w');
  const child = spawn(node, [...options, PROGRAM, ...ISSUE.slice(0, 4)], {
    stdio: ['ignore', full, 'pipe'],
    env: { ...inheritedEnvironment(), ...cli.env },
  });
  closeSync(full);
  let stderr = '';
  for await (const text of child.stderr!) stderr += String(text);
  expect(stderr.trimEnd().split('\n').slice(1)).toEqual(lost('ENOSPC'));
});

test('a result with a property `key` is no API key: its reader, such as `head`, may need no more', async () => {
  expect(await unread('items', 'index')).toEqual({ code: 0, lines: [] });
});

test('keys rotate › compares the expiry with the clock of PostgreSQL, which also sets it', async () => {
  const { keyId } = await createOwner(database);
  await database.query("UPDATE api_keys SET expires_at = now() + interval '1 hour'");
  const clock = 'const { now } = Date; Date.now = () => now() + 7_200_000;';
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(clock)}`;
  const ahead = new Cli({ DATABASE_URL: database.url, NODE_OPTIONS });
  const { code, stderr } = await resultOf(ahead.start('keys', 'rotate', keyId));
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Store the key') });
});

test('keys inspect - › reads the key from standard input, and ends although the input stays open', async () => {
  const { key } = await createOwner(database, { name: 'acme' });
  // Without this, the program would end the process after a second.
  const exit = 'const { exit } = process; process.exit = () => exit(9);';
  const load = ['--import', `data:text/javascript,${exit}`];
  const child = spawn(node, [...options, ...load, PROGRAM, 'keys', 'inspect', '-', '--json'], {
    env: { ...inheritedEnvironment(), DATABASE_URL: database.url },
  });
  const exited = once(child, 'exit');
  child.stdin.write(`${key}\n`);
  expect(JSON.parse(await text(child.stdout))).toMatchObject({ id: 1, owner: 'acme' });
  expect(await exited).toEqual([0, null]);
  child.stdin.destroy();
});

test('keys issue › asks on a terminal before it creates an owner whose name is similar to another one', async () => {
  await createOwner(database, { name: 'City shelter' });
  const issue = ['keys', 'issue', '--plan', 'free', '--owner', 'city shelter'];
  const count = "SELECT count(*)::int FROM owners WHERE name = 'city shelter'";
  expect(await runInTerminal(cli, issue, 'no\r')).toMatchObject({
    code: 1,
    stdout: '',
    screen: expect.stringContaining('New owner "city shelter", plan free. There are owners'),
  });
  expect(await database.query(count)).toEqual([{ count: 0 }]);
  const accepted = await runInTerminal(cli, issue, `${database.name}\r`);
  expect(accepted).toMatchObject({ code: 0, stdout: expect.stringContaining('city shelter') });
  expect(await database.query(count)).toEqual([{ count: 1 }]);
});

test('owners remove › asks on a terminal', async () => {
  await cli.run(...ISSUE);
  const removed = await runInTerminal(cli, ['owners', 'remove', 'acme'], `${database.name}\r`);
  expect(removed).toMatchObject({
    code: 0,
    screen: expect.stringMatching(
      /This removes the owner "acme" from .* and revokes its unused API keys 1\. Its usage and/,
    ),
  });
  expect(await cli.json('owners', 'list')).toEqual([]);
});
