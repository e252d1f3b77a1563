import { readProjectFile } from '../stack/compose-file.js';

/** A row of a table, by the text of its column heads. */
export type Row = Record<string, string>;

const cellsOf = (line: string): string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

/**
 * Returns the rows of the table of a page that has these columns.
 *
 * @throws Error if the page has no such table, or several
 */
export function rowsOf(page: string, ...columns: string[]): Row[] {
  const tables = readProjectFile(page).match(/(?:^\|.*\|\n)+/gm) ?? [];
  const found = tables.filter((table) => {
    const [head = ''] = table.split('\n');
    return columns.every((column) => cellsOf(head).includes(column));
  });
  const [head = '', , ...lines] = found[0]?.trimEnd().split('\n') ?? [];
  if (found.length !== 1)
    throw new Error(`${page} has ${found.length} tables with ${columns.join()}.`);
  const names = cellsOf(head);
  return lines.map((line) =>
    Object.fromEntries(cellsOf(line).map((cell, index) => [names[index] ?? '', cell])),
  );
}

/** Returns the texts between backticks, each once, sorted. */
export function codesIn(text: string): string[] {
  return sorted(Array.from(text.matchAll(/`([^`]+)`/g), ([, code = '']) => code));
}

export const sorted = (values: Iterable<string>): string[] => [...new Set(values)].sort();

/** Returns the commands that a help text lists. */
export function commandsIn(help: string): string[] {
  const [, list = ''] = help.split('\nCommands:\n');
  const names = Array.from(list.matchAll(/^ {2}(\S+)/gm), ([, name = '']) => name);
  return sorted(names.filter((name) => name !== 'help'));
}

/** Returns the commands of a group that docs/commands.md lists. */
export function documentedCommands(group: string): string[] {
  const lines = readProjectFile('docs/commands.md').matchAll(/^pets ([\w-]+) ([\w-]+)/gm);
  const own = [...lines].filter(([, first]) => first === group);
  return sorted(own.map(([, , name = '']) => name));
}
