// What the tests of the schema ask of the service, over the process channel:
//   ownIndexes    the names of the indexes that only migrations create
//   synchronize   makes the schema of an empty database from the entities alone
//   migrate       the names of the migrations that it ran
import { readdir } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { DataSource, DefaultNamingStrategy } from 'typeorm';
import type { DatabaseSettings } from '../../../src/platform/config/database-settings.js';
import { Settings } from '../../../src/platform/config/settings.js';
import { dataSourceOptions } from '../../../src/platform/database/data-source-options.js';
import {
  type DatabaseLocation,
  locateDatabase,
} from '../../../src/platform/database/database-location.js';
import { migrate } from '../../../src/platform/database/schema/migrate.js';
import { PRODUCT } from '../../../src/product.js';

type Command = (location: DatabaseLocation, settings: DatabaseSettings) => Promise<unknown>;

const commands: Record<string, Command> = {
  ownIndexes: (location, settings) =>
    withEntities(location, settings, (dataSource) =>
      Promise.resolve(
        dataSource.entityMetadatas
          .flatMap(({ indices }) => indices)
          .filter(({ synchronize }) => !synchronize)
          .map(({ name }) => name),
      ),
    ),
  synchronize: (location, settings) =>
    withEntities(location, settings, (dataSource) => dataSource.synchronize()),
  migrate: (location, settings) => migrate(location, settings),
};

process.on('message', ({ command, url }: { command: string; url: string }) => {
  void run(command, url).then(
    (value) => process.send?.({ value: value ?? null }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));

async function run(command: string, url: string): Promise<unknown> {
  const { database: settings } = new Settings(PRODUCT, { ...process.env, DATABASE_URL: url });
  return commands[command]?.(await locateDatabase(settings, 'command'), settings);
}

/** Runs work on a data source that knows every entity of the product. */
async function withEntities<Result>(
  location: DatabaseLocation,
  settings: DatabaseSettings,
  work: (dataSource: DataSource) => Promise<Result>,
): Promise<Result> {
  const options = dataSourceOptions(location.connection, settings);
  // As PostgreSQL names them.
  const namingStrategy = new DefaultNamingStrategy();
  namingStrategy.primaryKeyName = (table) =>
    `${typeof table === 'string' ? table : table.name}_pkey`;
  const entities = await allEntities();
  const dataSource = new DataSource({ ...options, entities, namingStrategy });
  await dataSource.initialize();
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
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
