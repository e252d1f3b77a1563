import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const BUNDLE = join(process.cwd(), 'dist', 'bundle');

const files = readdirSync(BUNDLE).filter((name) => name.endsWith('.js'));
const code = files.map((name) => readFileSync(join(BUNDLE, name), 'utf8')).join('\n');

it('has no helper that sets names at run time, because V8 does not optimize such constructors', () => {
  expect(code).not.toMatch(/\b__name\(/);
});

it('keeps the names of classes that the bundler renames', () => {
  const renamed =
    /class (_?)(\w+?)(\d*)(?: extends \w+)? \{\s*static get name\(\) \{ return "(\w+)"; \}/g;
  const names = [...code.matchAll(renamed)];

  expect(names.length).toBeGreaterThan(100);
  expect(names.every(([, , name, , given]) => given?.startsWith(name ?? ''))).toBe(true);
});
