import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { csvText } from '../../../src/platform/commands/administration/csv.js';
import { propertiesText, tableText } from '../../../src/platform/commands/table.js';
import { useDatabase } from '../../harness/database/database.js';
import { Cli, PROGRAM, resultOf } from '../../harness/processes/command.js';
import { inheritedEnvironment } from '../../harness/service/service.js';

const ISSUE = ['keys', 'issue', '--owner', 'acme', '--plan', 'free'];
const database = useDatabase();
const cli = Cli.on(database);

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
  const child = spawn(process.execPath, [PROGRAM, ...ISSUE.slice(0, 4)], {
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

test('a table has any number of rows', () => {
  const rows = Array.from({ length: 200_000 }, (_, index) => ({ id: index }));
  expect(tableText(rows).split('\n').at(-1)).toBe('199999');
});

test('a table that is too wide shortens its texts, unless the command says what to omit', () => {
  const text = 'x'.repeat(30);
  const row = { id: 1n, name: text, note: text, place: text, more: text };
  const short = (length: number) => `${'x'.repeat(length - 1)}…`;
  const cells = (length: number) => Array.from({ length: 4 }, () => short(length)).join('  ');
  expect(tableText([row]).split('\n')[1]).toBe(`1   ${cells(16)}`);
  const [head] = tableText([row], ['note', 'place']).split('\n');
  expect(head?.split(/ +/)).toEqual(['id', 'name', 'place', 'more']);
});

test.each([0, 0n, -0, false, [0], '0'])('%p is shown as it is, not as a dash', (value) => {
  const shown = value === false ? 'false' : '0';
  expect(propertiesText({ value })).toBe(`value  ${shown}`);
  expect(tableText([{ value }])).toBe(`value\n${shown}`);
});

test('CSV has every value, empty cells for null, and quotes what separates', async () => {
  const row = { a: 0n, b: null, c: 'x,"y"\r\n', d: new Date(0), e: 0 };
  let text = '';
  for await (const part of csvText(['a', 'b', 'c', 'd', 'e'], [row])) text += part;
  expect(text).toBe('a,b,c,d,e\r\n0,,"x,""y""\r\n",1970-01-01T00:00:00.000Z,0\r\n');
});
