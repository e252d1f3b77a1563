import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { MigrationInterface } from 'typeorm';
import { StartError } from '../../errors/start-error.js';

type MigrationClass = new () => MigrationInterface;

/** The migrations of the platform. */
const OWN_FOLDER = join(import.meta.dirname, '../migrations');

/** A file in a folder `migrations`. A test in the process of Jest runs the sources. */
const FILE = /(?:^|[/\\])migrations[/\\][^/\\]+(?<!\.d)\.[jt]s$/;

/**
 * Returns the migrations of the platform and of the features. TypeORM sorts them. It could also find
 * them by a pattern, but a path with brackets is not a pattern of itself.
 *
 * @param codeFolder is searched for folders `migrations`
 * @throws StartError if it has none, or if a file exports none: the service must not start without its
 *   tables
 */
export async function findMigrations(codeFolder: string): Promise<MigrationClass[]> {
  const paths = await migrationFiles(codeFolder);
  if (paths.length === 0) throw new StartError('The build has no migrations. Build it again.');
  // The code of the store contains the platform, unless the platform is a package.
  const all = new Set([...(await migrationFiles(OWN_FOLDER)), ...paths]);
  return (await Promise.all([...all].map(migrationsIn))).flat();
}

/** Returns the number of a new migration, which follows all others: the time, in milliseconds. */
export async function nextMigrationNumber(codeFolder: string, nowMs: number): Promise<number> {
  // TypeORM reads it from the name of the class.
  const numbers = (await findMigrations(codeFolder)).map(({ name }) => Number(name.slice(-13)));
  return Math.max(nowMs, ...numbers.map((number) => number + 1));
}

async function migrationFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.map((name) => join(folder, name)).filter((path) => FILE.test(path));
}

async function migrationsIn(path: string): Promise<MigrationClass[]> {
  // Relative, because Jest imports no URL.
  const specifier = `./${relative(import.meta.dirname, path).replaceAll('\\', '/')}`;
  const module = (await import(specifier)) as Record<string, unknown>;
  const classes = Object.values(module).filter((value) => typeof value === 'function');
  if (classes.length === 0) throw new StartError(`The migration ${path} exports no class.`);
  return classes as MigrationClass[];
}
