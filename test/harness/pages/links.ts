import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { readProjectFile } from '../stack/compose-file.js';

const ROOT = resolve(__dirname, '../../..');
const LEFT_OUT = new Set(['node_modules', 'dist', 'reports', 'coverage', '.git', '.data']);

/** Returns all pages of the project. */
export function markdownFiles(folder = ROOT): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (LEFT_OUT.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return markdownFiles(path);
    return entry.name.endsWith('.md') ? [relative(ROOT, path)] : [];
  });
}

const withoutCode = (text: string): string => text.replaceAll(/^ *```[^]*?^ *```$/gm, '');

/** Returns the anchors of the headings of a page, as Git servers create them. */
function anchorsOf(page: string): string[] {
  const counts = new Map<string, number>();
  return [...withoutCode(readProjectFile(page)).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => {
    const anchor = title
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

/** Returns the links of a page that lead to no file, or to no heading of one. */
export function brokenLinks(page: string): string[] {
  const text = withoutCode(readProjectFile(page)).replaceAll(/`[^`\n]*`/g, '');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : relative(ROOT, resolve(ROOT, dirname(page), path));
    if (!existsSync(join(ROOT, target))) return true;
    if (anchor === undefined || !target.endsWith('.md')) return false;
    return statSync(join(ROOT, target)).isDirectory() || !anchorsOf(target).includes(anchor);
  });
}
