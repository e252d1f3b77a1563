import { csvText } from '../../../src/platform/commands/administration/csv.js';
import { propertiesText, tableText } from '../../../src/platform/commands/table.js';

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

test('a text cannot change what the terminal shows', () => {
  const name = 'a\n\u001b[31mb\u202e😀';
  expect(tableText([{ name }])).toBe('name\na\ufffd\ufffd[31mb\ufffd😀');
  expect(propertiesText({ name })).toBe('name  a\ufffd\ufffd[31mb\ufffd😀');
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
