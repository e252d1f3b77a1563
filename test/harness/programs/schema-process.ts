// What the tests of the schema ask of the service, over the process channel:
//   differences   how the database differs from what the entities declare
//   migrate       the names of the migrations that it ran
import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DatabaseSettings } from '../../../src/platform/config/database-settings.js';
import { Settings } from '../../../src/platform/config/settings.js';
import {
  type DatabaseLocation,
  locateDatabase,
} from '../../../src/platform/database/database-location.js';
import { migrate, withDataSource } from '../../../src/platform/database/schema/migrate.js';
import { PRODUCT } from '../../../src/product.js';

type Command = (location: DatabaseLocation, settings: DatabaseSettings) => Promise<unknown>;

const commands: Record<string, Command> = {
  differences: async (location, settings) => {
    const generator = pathToFileURL(resolve('scripts/generate-migration.mjs')).href;
    const { findDifferences, SchemaNames } = (await import(
      generator
    )) as typeof import('../../../scripts/generate-migration.mjs');
    const options = { entities: await allEntities(), namingStrategy: new SchemaNames() };
    return withDataSource(location, settings, findDifferences, options);
  },
  migrate: (location, settings) => migrate(location, settings),
};

process.on('message', ({ id, command, url }: { id: number; command: string; url: string }) => {
  void run(command, url).then(
    (value) => process.send?.({ id, value: value ?? null }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));

async function run(command: string, url: string): Promise<unknown> {
  const { database: settings } = new Settings(PRODUCT, { ...process.env, DATABASE_URL: url });
  return commands[command]?.(await locateDatabase(settings, 'command'), settings);
}

/** Returns the entities of src/ and of the folder ENTITIES. */
async function allEntities(): Promise<(new () => object)[]> {
  const { ENTITIES } = process.env;
  const folders = [new URL('../../../src/', import.meta.url)];
  if (ENTITIES) folders.push(pathToFileURL(`${ENTITIES}/`));
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
