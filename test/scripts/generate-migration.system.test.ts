import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SCHEMA, useDatabase } from '../harness/database/database.js';
import { resultOf } from '../harness/processes/command.js';
import { NODE } from '../harness/processes/node.js';
import { ProjectCopy } from '../harness/processes/project-copy.js';
import { inheritedEnvironment } from '../harness/service/service.js';
import { PACKAGES } from '../harness/run/packages.js';

const ROOT = resolve(__dirname, '../..');
const FOLDER = 'src/platform/database/migrations';
const [node, ...flags] = NODE;

const database = useDatabase(SCHEMA);
let project: ProjectCopy;

beforeAll(() => {
  project = new ProjectCopy();
});
afterAll(() => project.remove());

const program = () => project.path('dist/cli/main.js');
const options = () => ({
  cwd: project.folder,
  encoding: 'utf8' as const,
  stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'],
  env: { ...inheritedEnvironment(), DATABASE_URL: database.url },
});
const run = (...command: string[]) =>
  resultOf(spawn(node, [...flags, project.path('scripts/cli.mjs'), ...command], options()));

const generate = (name: string) => run('db', 'generate', `${FOLDER}/${name}`);

test('db generate › writes what was added to an entity, and then nothing', async () => {
  const entity = project.path('src/platform/access/owner.entity.ts');
  const text = readFileSync(entity, 'utf8');
  const added = `$1  @Column('text', { nullable: true })\n  breed!: string | null;\n`;
  writeFileSync(entity, text.replace(/(export class Owner \{\n)/, added));
  const { code, stdout } = await generate('add-breed');
  const [, file = ''] = /^file +(.+-add-breed\.ts)\n$/.exec(stdout) ?? [];
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('add-breed.ts') });
  const source = readFileSync(project.path(file), 'utf8');
  expect(source).toContain(`runner.query('ALTER TABLE "owners" ADD "breed" text');`);
  expectForm(source);

  expect(await run('db', 'migrate')).toMatchObject({ code: 0 });
  expect(await generate('none')).toMatchObject({ code: 0, stdout: 'file  -\n' });
  const elsewhere = await resultOf(
    spawn(node, [...flags, program(), 'db', 'generate', `${FOLDER}/none`], {
      ...options(),
      cwd: tmpdir(),
    }),
  );
  expect(elsewhere).toMatchObject({
    code: 1,
    stderr: 'There are no sources here. Run the command in the folder of a checkout.\n',
  });
}, 240_000);

/** Expects Prettier to have nothing to change. The rules of ESLint are tried in test/adoption.nightly.test.ts. */
function expectForm(source: string): void {
  const file = join(ROOT, FOLDER, '1795132800000-create-store.ts');
  const args = [join(PACKAGES, 'prettier/bin/prettier.cjs'), '--stdin-filepath', file];
  const form = { cwd: ROOT, input: source, encoding: 'utf8' } as const;
  expect(execFileSync(process.execPath, args, form)).toBe(source);
}
