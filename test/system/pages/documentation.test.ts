import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { Settings } from '../../../src/platform/config/settings.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';
import { PRODUCT } from '../../../src/product.js';

const ROOT = resolve(__dirname, '../../..');
const LEFT_OUT = new Set(['node_modules', 'dist', 'reports', 'coverage', '.git', '.data']);

function markdownFiles(folder = ROOT): string[] {
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

test.each(markdownFiles())('%s: every link leads to a file and a heading that exist', (page) => {
  const text = withoutCode(readProjectFile(page)).replaceAll(/`[^`\n]*`/g, '');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const broken = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : relative(ROOT, resolve(ROOT, dirname(page), path));
    if (!existsSync(join(ROOT, target))) return true;
    if (anchor === undefined || !target.endsWith('.md')) return false;
    return statSync(join(ROOT, target)).isDirectory() || !anchorsOf(target).includes(anchor);
  });
  expect(broken).toEqual([]);
});

/** The names of all settings that the service reads, without former names. */
function settingNames(): string[] {
  const names = new Set<string>();
  new Settings(
    PRODUCT,
    new Proxy<NodeJS.ProcessEnv>({}, { get: (_, name) => void names.add(String(name)) }),
  );
  return [...names];
}

test('.env.example lists every setting, and every variable of docker-compose.yml', () => {
  const example = readProjectFile('.env.example');
  const compose = readProjectFile('docker-compose.yml').matchAll(/\$\{(\w+)/g);
  const names = [...settingNames(), ...Array.from(compose, ([, name = '']) => name)];
  expect(names.filter((name) => !new RegExp(`^# ${name}=`, 'm').test(example))).toEqual([]);
});
