import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join, resolve } from 'node:path';
import { AdoptedCopy, git } from './harness/processes/adopted-copy.js';
import { PACKAGES } from './harness/run/packages.js';

// What test/adoption.system.test.ts leaves to the night.

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
