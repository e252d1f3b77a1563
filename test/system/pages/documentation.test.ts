import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { PLAN_LIMITS } from '../../../src/platform/config/plans.js';
import { Settings } from '../../../src/platform/config/settings.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';

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

test.each(markdownFiles())('%s: every path and npm script that it prints exists', (page) => {
  const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: object };
  const text = readProjectFile(page);
  // A feature that the reader adds does not exist yet. The changelog names what is removed.
  const isFuture = /^CHANGELOG|first-change/.test(page);
  const paths = [
    ...text.matchAll(/`((?:src|test|scripts|deploy|bench|rehearsals|examples)\/[\w./-]*\w)`/g),
  ];
  const commands = [...text.matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g)];
  const missing = [
    ...paths.map(([, path = '']) => path).filter((path) => !existsSync(join(ROOT, path))),
    ...commands.map(([, name = '']) => name).filter((name) => !(name in scripts)),
  ];
  expect(isFuture ? [] : missing).toEqual([]);
});

/** The names of all settings that the service reads, without former names. */
function settingNames(): string[] {
  const names = new Set<string>();
  new Settings(
    new Proxy<NodeJS.ProcessEnv>({}, { get: (_, name) => void names.add(String(name)) }),
  );
  return [...names].filter((name) => name !== 'BAN_AFTER_REFUSALS');
}

test('.env.example lists every setting, and every variable of docker-compose.yml', () => {
  const example = readProjectFile('.env.example');
  const compose = readProjectFile('docker-compose.yml').matchAll(/\$\{(\w+)/g);
  const names = [...settingNames(), ...Array.from(compose, ([, name = '']) => name)];
  expect(names.filter((name) => !new RegExp(`^# ${name}=`, 'm').test(example))).toEqual([]);
});

test('docs/settings.md lists every time limit and bound', () => {
  const page = readProjectFile('docs/settings.md');
  const limits = settingNames().filter((name) => /_SECONDS$|^MAX_|_SIZE$|_BYTES$/.test(name));
  // docs/limits.md explains bans, and docs/sizing.md the pool.
  const elsewhere = ['BAN_SECONDS', 'DATABASE_POOL_SIZE'];
  expect(limits.length).toBeGreaterThan(15);
  expect(
    limits.filter((name) => !elsewhere.includes(name) && !page.includes(`\`${name}\``)),
  ).toEqual([]);
});

test('docs/limits.md lists every plan', () => {
  const page = readProjectFile('docs/limits.md');
  const text = (limit?: number) => limit?.toLocaleString('en') ?? 'set per owner';
  for (const [plan, limits] of Object.entries(PLAN_LIMITS)) {
    const row = ['', plan, text(limits?.perMinute), text(limits?.perDay), ''];
    expect(page).toMatch(new RegExp(row.join(' *\\| *'), 'i'));
  }
});
