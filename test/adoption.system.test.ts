import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Cli } from './harness/processes/command.js';
import { type BuiltService, startBuiltService } from './harness/service/service.js';
import { PACKAGES } from './harness/run/packages.js';

// What a team does with a copy of the project (docs/upgrade.md).

const ROOT = resolve(__dirname, '..');
const MINUTES = 60_000;

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

const folders: string[] = [];
const services: BuiltService[] = [];
afterAll(async () => {
  await Promise.all(services.map((service) => service.stop()));
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
});

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1e8 });

/** A copy of the project with its packages, in the project, so that Node.js finds the files. */
class Copy {
  readonly folder: string;

  constructor() {
    fs.mkdirSync(join(ROOT, 'reports'), { recursive: true });
    this.folder = fs.mkdtempSync(join(ROOT, 'reports', 'adopted-'));
    folders.push(this.folder);
    fs.chmodSync(this.folder, 0o755);
  }

  static ofFiles(): Copy {
    const copy = new Copy();
    const files = git('ls-files', '-co', '--exclude-standard').split('\n').filter(Boolean);
    for (const file of files) fs.cpSync(join(ROOT, file), copy.path(file));
    return copy.withPackages();
  }

  withPackages(): this {
    // Hard links, because packages of symbolic links would be those of the project.
    execFileSync('cp', ['-al', PACKAGES, this.folder]);
    return this;
  }

  path(file: string): string {
    return join(this.folder, file);
  }

  write(file: string, text: string): void {
    fs.mkdirSync(dirname(this.path(file)), { recursive: true });
    fs.writeFileSync(this.path(file), text);
  }

  change(file: string, ...changes: [from: string | RegExp, to: string][]): void {
    let text = fs.readFileSync(this.path(file), 'utf8');
    for (const [from, to] of changes) {
      const changed = text.replace(from, to);
      expect({ file, from, isChanged: changed !== text }).toMatchObject({ isChanged: true });
      text = changed;
    }
    fs.writeFileSync(this.path(file), text);
  }

  run(command: string, ...args: string[]): string {
    const options = { cwd: this.folder, encoding: 'utf8', maxBuffer: 1e8 } as const;
    const { status, stdout, stderr } = spawnSync(command, args, options);
    const failure = status === 0 ? '' : stdout + stderr;
    expect(`${[command, ...args].join(' ')}\n${failure}`).toBe(`${[command, ...args].join(' ')}\n`);
    return stdout;
  }

  /** Starts the service on an embedded database, and returns it with a new API key. */
  async start(): Promise<{ service: BuiltService; key: string }> {
    const dataDir = fs.mkdtempSync(join(tmpdir(), 'adopted-data-'));
    fs.chmodSync(dataDir, 0o755);
    folders.push(dataDir);
    // fetch keeps its connections for as long as the service allows.
    const env = { DATA_DIR: dataDir, KEEP_ALIVE_TIMEOUT_SECONDS: '1' };
    const service = await startBuiltService(env, this.path('dist/main.js'));
    services.push(service);
    const cli = new Cli({ DATA_DIR: dataDir }, {}, this.path('dist/cli/main.js'));
    const { key } = await cli.json('keys', 'issue', '--owner', 'team', '--plan', 'business');
    return { service, key: key as string };
  }
}

test(
  'a resource that the Nest CLI generates with its tests, and a copy of an example, need no edit',
  async () => {
    const copy = Copy.ofFiles();
    copy.run('npx', 'nest', 'generate', 'resource', 'gizmos', '--type', 'rest', '--crud');
    // Each module makes a line of the root longer, which the team formats.
    copy.run('npx', 'prettier', '--check', 'src/gizmos', 'nest-cli.json');
    for (const kind of ['guard', 'pipe', 'interceptor', 'middleware', 'filter'])
      copy.run('npx', 'nest', 'generate', kind, `gizmos/${kind}`);
    copy.run('npx', 'eslint', 'src/gizmos', 'src/app.module.ts');
    copy.run('npm', 'run', '--silent', 'typecheck');
    expect(
      copy.run('npx', 'jest', '--listTests', 'src/gizmos').match(/\.spec\.ts$/gm),
    ).toHaveLength(7);
    copy.run('npx', 'jest', '--silent', 'src/gizmos');
    const example = join(ROOT, 'examples/categories');
    fs.cpSync(example, copy.path('src/categories'), { recursive: true });
    copy.run('npm', 'run', '--silent', 'deps');
    copy.write('src/gizmos/greeting.txt', 'Hello');
    copy.run('npm', 'run', '--silent', 'build');
    expect(fs.readFileSync(copy.path('dist/gizmos/greeting.txt'), 'utf8')).toBe('Hello');
    const built = fs.readdirSync(copy.path('dist'), { recursive: true }).map(String);
    expect(built.filter((file) => file.includes('.spec'))).toEqual([]);
    const { service, key } = await copy.start();
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const gizmos = `${service.url}/v1/gizmos`;

    const list = await fetch(gizmos, { headers });
    expect(await list.json()).toBe('This action returns all gizmos');
    expect(list.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/);
    expect((await fetch(gizmos, { method: 'POST', headers, body: '{}' })).status).toBe(201);
    expect((await fetch(`${gizmos}/1`, { method: 'PATCH', headers, body: '{}' })).status).toBe(200);
    expect((await fetch(gizmos)).status).toBe(401);
    const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
      paths: Record<string, object>;
    };
    expect(Object.keys(paths['/gizmos/{id}'] ?? {})).toEqual(['get', 'patch', 'delete']);
  },
  10 * MINUTES,
);

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
    const copy = new Copy();
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
    const { service, key } = await copy.start();
    const headers = { Authorization: `Bearer ${key}` };
    expect(await (await fetch(`${service.url}/v1/shelters`, { headers })).json()).toEqual([
      { id: 1, city: 'Berlin' },
    ]);
  },
  10 * MINUTES,
);
