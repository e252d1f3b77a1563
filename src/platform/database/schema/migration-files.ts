import { readdir } from 'node:fs/promises';
import type { MigrationInterface } from 'typeorm';
import { StartError } from '../../errors/start-error.js';

type MigrationClass = new () => MigrationInterface;

/** The folder of the platform and of the features. */
const ROOT = '../../../';

/** A file in a folder `migrations`. A test in the process of Jest runs the sources. */
const FILE = /(?:^|\/)migrations\/[^/]+(?<!\.d)\.[jt]s$/;

/**
 * Returns the migrations of the platform and of the features. TypeORM sorts them. It could also find
 * them by a pattern, but a path with brackets is not a pattern of itself.
 *
 * @throws StartError if there is none, or if a file exports none: the service must not start without
 *   its tables
 */
export async function findMigrations(): Promise<MigrationClass[]> {
  const names = await readdir(new URL(ROOT, import.meta.url), { recursive: true });
  const paths = names.map((name) => name.replaceAll('\\', '/')).filter((path) => FILE.test(path));
  if (paths.length === 0) throw new StartError('The build has no migrations. Build it again.');
  return (await Promise.all(paths.map(migrationsIn))).flat();
}

/** Returns the number of a new migration, which follows all others: the time, in milliseconds. */
export async function nextMigrationNumber(nowMs: number): Promise<number> {
  // TypeORM reads it from the name of the class.
  const numbers = (await findMigrations()).map(({ name }) => Number(name.slice(-13)));
  return Math.max(nowMs, ...numbers.map((number) => number + 1));
}

/** @param path relative to ROOT */
async function migrationsIn(path: string): Promise<MigrationClass[]> {
  const module = (await import(`${ROOT}${path}`)) as Record<string, unknown>;
  const classes = Object.values(module).filter((value) => typeof value === 'function');
  if (classes.length === 0) throw new StartError(`The migration ${path} exports no class.`);
  return classes as MigrationClass[];
}
