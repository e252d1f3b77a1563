// What the tests of the schema ask of the code of src/ (service-host.ts):
//   differences   how the database differs from what the entities declare
//   migrate       the names of the migrations that it ran
import { readdir } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { findDifferences, SchemaNames } from '../../../scripts/generate-migration.mjs';
import type { DatabaseSettings } from '../../../src/platform/config/database-settings.js';
import { Settings } from '../../../src/platform/config/settings.js';
import {
  type DatabaseLocation,
  locateDatabase,
} from '../../../src/platform/database/database-location.js';
import { migrate, withDataSource } from '../../../src/platform/database/schema/migrate.js';
import { PRODUCT } from '../../../src/product.js';

type Command = (
  location: DatabaseLocation,
  settings: DatabaseSettings,
  entities?: string,
) => Promise<unknown>;

const commands: Record<string, Command> = {
  differences: async (location, settings, folder) => {
    const options = { entities: await allEntities(folder), namingStrategy: new SchemaNames() };
    return withDataSource(location, settings, findDifferences, options);
  },
  migrate: (location, settings) => migrate(location, settings),
};

/** @param env the settings, and ENTITIES, a folder with entities in addition to those of src/ */
export async function runOnSchema(command: string, env: Record<string, string>): Promise<unknown> {
  const { database: settings } = new Settings(PRODUCT, env);
  const location = await locateDatabase(settings, 'command');
  return commands[command]?.(location, settings, env['ENTITIES']);
}

/** Returns the entities of src/ and of another folder. */
async function allEntities(folder?: string): Promise<(new () => object)[]> {
  const folders = [new URL('../../../src/', import.meta.url)];
  if (folder) folders.push(pathToFileURL(`${folder}/`));
  const files = folders.map(async (folder) => {
    const names = await readdir(folder, { recursive: true });
    return names
      .filter((name) => name.endsWith('.entity.js'))
      .map((name) => new URL(name, folder).href);
  });
  const modules = await Promise.all(
    (await Promise.all(files)).flat().map((file) => import(file) as Promise<object>),
  );
  return modules
    .flatMap((module) => Object.values(module) as unknown[])
    .filter((value) => typeof value === 'function') as (new () => object)[];
}
