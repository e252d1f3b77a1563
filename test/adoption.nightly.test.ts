import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join, resolve } from 'node:path';
import { AdoptedCopy, git } from './harness/processes/adopted-copy.js';
import { PACKAGES } from './harness/run/packages.js';

// What a team does with a copy of the project (docs/upgrade.md and docs/extending.md).

const ROOT = resolve(__dirname, '..');

const MODULE = `import { Controller, Get, Module } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { queryRows, readSettings } from '#platform';

const { city } = readSettings((read) => ({ city: read.text('SHELTERS_CITY', 'Berlin') }));

@Controller('shelters')
class SheltersController {
  constructor(private readonly manager: EntityManager) {}

  @Get()
  list() {
    return queryRows(this.manager, 'SELECT id, city FROM shelters WHERE city = $1', [city]);
  }
}

@Module({ controllers: [SheltersController] })
export class SheltersModule {}
`;
const MIGRATION = `import type { QueryRunner } from 'typeorm';

export class CreateShelters1796515200000 {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE shelters (id bigint PRIMARY KEY, city text NOT NULL)');
    await runner.query(\`INSERT INTO shelters VALUES (1, 'Berlin')\`);
  }
}
`;

let copy: AdoptedCopy;
beforeEach(() => {
  copy = new AdoptedCopy();
});
afterEach(() => copy.end());

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

test('each kind of step and the migration that are generated pass ESLint, the types and their own tests', () => {
  copy.withFiles().withPackages();
  copy.change('src/platform/access/owner.entity.ts', [
    'export class Owner {\n',
    `export class Owner {\n  @Column('text', { nullable: true })\n  breed!: string | null;\n\n`,
  ]);
  const migration = 'src/gizmos/migrations/add-breed';
  copy.run('npm', 'run', '--silent', 'cli', '--', 'db', 'generate', migration);
  for (const kind of ['guard', 'pipe', 'interceptor', 'middleware', 'filter'])
    copy.run('npx', 'nest', 'generate', kind, `gizmos/${kind}`);
  copy.run('npx', 'eslint', 'src/gizmos');
  copy.run('npm', 'run', '--silent', 'typecheck');
  const specs = copy.run('npx', 'jest', '--listTests', 'src/gizmos').match(/\.spec\.ts$/gm);
  expect(specs).toHaveLength(5);
  copy.run('npx', 'jest', '--silent', 'src/gizmos');
}, 600_000);

const hasHistory = git('rev-parse', '--is-shallow-repository').trim() === 'false';
if (!hasHistory)
  console.warn('To test the merge of a feature, clone the repository with its history.');

(hasHistory ? test : test.skip)(
  'a feature that was made on an earlier commit merges with this one without a conflict',
  async () => {
    // A package that is installed for other packages too.
    const bytes = JSON.parse(fs.readFileSync(join(PACKAGES, 'bytes/package.json'), 'utf8')) as {
      version: string;
    };
    // The first commit whose packages have no overrides.
    const base = git('log', '--format=%H', '-S', '"overrides"', '--', 'package.json').slice(0, 40);
    execFileSync('git', ['clone', '-q', ROOT, copy.folder]);
    const inCopy = (...args: string[]) =>
      copy.run('git', '-c', 'user.name=team', '-c', 'user.email=team@example.org', ...args);
    inCopy('checkout', '-q', '-b', 'team', base);
    copy.write('src/shelters/shelters.module.ts', MODULE);
    copy.write('src/shelters/migrations/1796515200000-create-shelters.ts', MIGRATION);
    copy.write('test/shelters/shelters.test.ts', "test('shelters', () => undefined);\n");
    copy.change(
      'src/app.module.ts',
      [
        'import { PetsModule }',
        "import { SheltersModule } from './shelters/shelters.module.js';\nimport { PetsModule }",
      ],
      ['imports: [', 'imports: [SheltersModule, '],
    );
    copy.change('src/product.ts', [
      "title: 'Animal Adoption Store Service'",
      "title: 'Shelter Network'",
    ]);
    copy.change('package.json', [
      '"class-transformer"',
      `"bytes": "${bytes.version}",\n    "class-transformer"`,
    ]);
    copy.write(
      '.env.example',
      `${fs.readFileSync(copy.path('.env.example'), 'utf8')}# SHELTERS_CITY=Berlin\n`,
    );
    inCopy('add', '--all');
    inCopy('commit', '-qm', 'feat(shelters): a list of shelters');
    inCopy('merge', '-q', '--no-edit', git('rev-parse', 'HEAD').trim());

    copy.withPackages();
    copy.run('npm', 'run', '--silent', 'build');
    const { url, headers } = await copy.start();
    expect(await (await fetch(`${url}/v1/shelters`, { headers })).json()).toEqual([
      { id: 1, city: 'Berlin' },
    ]);
  },
  600_000,
);
