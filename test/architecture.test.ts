import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { FOUNDATIONS } from '../.dependency-cruiser.js';

const ROOT = join(__dirname, '..');
const PAGE = 'docs/architecture.md';

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Returns the section below a heading, up to the next heading of the same or a higher level. */
function section(heading: string): string {
  const level = heading.indexOf(' ');
  const text = page.slice(page.indexOf(`\n${heading}\n`) + heading.length + 2);
  const end = text.search(new RegExp(`^#{1,${level}} `, 'm'));
  return end < 0 ? text : text.slice(0, end);
}

/** Returns the cells of a table in a section, without its header. */
function tableOf(text: string): string[][] {
  const rows = text.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Returns the files and folders that Markdown links to, relative to the project's folder. */
function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link = '']) =>
    normalize(join(dirname(PAGE), link)),
  );
}

/** Returns the folders in a folder of the project at any depth, relative to src. */
function foldersIn(path: string): string[] {
  return readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => [relative('src', join(path, name)), ...foldersIn(join(path, name))]);
}

/** Returns the folders of src that the page describes: it need not list a team's own features. */
function foldersOf(): string[] {
  const described = [...FOUNDATIONS, 'pets'];
  return foldersIn('src').filter((folder) => described.includes(folder.split('/')[0] ?? ''));
}

/** Returns which other top-level folders the files of a folder import. */
function importedFolders(folder: string): string[] {
  const files = readdirSync(join(ROOT, 'src', folder), { recursive: true }).map(String);
  const imported = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...read(join('src', folder, file)).matchAll(/'(\.[^']+)\.js'/g)].map(
        ([, from = '']) => normalize(join(folder, dirname(file), from)).split('/')[0] ?? '',
      ),
    );
  return [...new Set(imported)].filter((name) => name !== folder).sort();
}

const page = read(PAGE);
const folders = section('## Folders');
const folderRows = tableOf(folders.slice(0, folders.indexOf('### Subfolders')));
const topFolders = foldersOf().filter((folder) => !folder.includes('/'));

test('every file and folder that the page links to exists', () => {
  const links = linksIn(page);
  expect(links.length).toBeGreaterThan(0);
  expect(links.filter((link) => !existsSync(join(ROOT, link)))).toEqual([]);
});

test('every folder of src is in one of the tables', () => {
  const links = linksIn(folders).map((link) => relative('src', link));
  expect(foldersOf().filter((folder) => !links.includes(folder))).toEqual([]);
});

test('the diagram of the folders shows every folder once', () => {
  const diagram = /```mermaid\n([^]*?)```/.exec(folders)?.[1] ?? '';
  const names = [...diagram.matchAll(/^ {4}([\w-]+)$/gm)].map(([, name = '']) => name);
  expect(names.sort()).toEqual(topFolders.sort());
});

test.each(topFolders)(
  'src/%s imports only the folders of its row, all in lower layers',
  (folder) => {
    const row = folderRows.find(([name]) => name?.startsWith(`[${folder}]`));
    const allowed = row?.[2] === '–' ? [] : row?.[2]?.split(', ');
    expect(importedFolders(folder).filter((name) => !allowed?.includes(name))).toEqual([]);
    const layers = (folders.split('```')[1] ?? '').split('subgraph ');
    const layerOf = (name: string): number =>
      layers.findIndex((layer) => new RegExp(`^ {4}${name}$`, 'm').test(layer));
    for (const name of importedFolders(folder)) {
      expect([name, layerOf(name) < layerOf(folder)]).toEqual([name, true]);
    }
  },
);
