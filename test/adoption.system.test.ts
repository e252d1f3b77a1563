import * as fs from 'node:fs';
import { join, resolve } from 'node:path';
import { AdoptedCopy } from './harness/processes/adopted-copy.js';

// What a team does with a copy of the project (docs/upgrade.md and docs/extending.md).

const ROOT = resolve(__dirname, '..');

const copy = new AdoptedCopy();
afterAll(() => copy.end());

test('a product with other names, without the animals, with a resource that the Nest CLI generates and a copy of an example, needs no other edit', async () => {
  copy.withFiles().withPackages();
  copy.remove('src/pets', 'src/demo', 'test/pets', 'test/demo', 'test/docs/animals');
  copy.remove('examples/orders', 'test/examples/orders.test.ts', 'openapi.yaml');
  copy.remove('test/examples/orders.nightly.test.ts');
  copy.change(
    'src/app.module.ts',
    [/^import .*(?:Demo|Pets)Module.*\n/gm, ''],
    [', DemoModule, PetsModule', ''],
  );
  copy.change('src/commands.ts', [/^ {2}animals: \{$[^]*?^ {2}\},$\n/m, '']);
  copy.change(
    'src/product.ts',
    ["'animal-adoption-store'", "'toy-store'"],
    ['Animal Adoption', 'Toy'],
    ['individual animals', 'toys'],
    [/\baas/g, 'toy'],
    [/\bpets/g, 'toys'],
  );
  copy.change('package.json', ['animal-adoption-store', 'toy-store']);

  copy.run('npx', 'nest', 'generate', 'resource', 'gizmos', '--type', 'rest', '--crud');
  copy.run('npx', 'prettier', '--check', 'src/gizmos', 'nest-cli.json');
  fs.cpSync(join(ROOT, 'examples/categories'), copy.path('src/categories'), { recursive: true });
  copy.run('npm', 'run', '--silent', 'typecheck');
  copy.write('src/gizmos/greeting.txt', 'Hello');
  copy.run('npm', 'run', '--silent', 'build');
  expect(fs.readFileSync(copy.path('dist/gizmos/greeting.txt'), 'utf8')).toBe('Hello');
  const built = fs.readdirSync(copy.path('dist'), { recursive: true }).map(String);
  expect(built.filter((file) => file.includes('.spec'))).toEqual([]);
  // The other files are as in the project, where .ci/run lints them.
  copy.run('npx', 'eslint', 'src/gizmos', 'src/categories', 'src/*.ts');
  copy.run('npm', 'run', '--silent', 'deps');
  const specs = copy.run('npx', 'jest', '--listTests', 'src/gizmos').match(/\.spec\.ts$/gm);
  expect(specs).toHaveLength(2);
  copy.run('npx', 'jest', '--silent', 'src/gizmos');

  const { url, headers } = await copy.start();
  const gizmos = `${url}/v1/gizmos`;
  const list = await fetch(gizmos, { headers });
  expect(await list.json()).toBe('This action returns all gizmos');
  expect(list.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/);
  expect((await fetch(gizmos, { method: 'POST', headers, body: '{}' })).status).toBe(201);
  expect((await fetch(`${gizmos}/1`, { method: 'PATCH', headers, body: '{}' })).status).toBe(200);
  expect((await fetch(gizmos)).status).toBe(401);
  const { info, paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    info: { title: string };
    paths: Record<string, object>;
  };
  expect(info.title).toBe('Toy Store Service');
  expect(Object.keys(paths['/gizmos/{id}'] ?? {})).toEqual(['get', 'patch', 'delete']);
}, 600_000);
