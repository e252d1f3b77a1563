// @ts-check
// What the tests of the schema ask of the built service, over the process channel:
//   ownIndexes    the names of the indexes that only migrations create
//   synchronize   makes the schema of an empty database from the entities alone
//   migrate       the names of the migrations that it ran
import { readdir } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { DataSource, DefaultNamingStrategy } from 'typeorm';
import { Settings } from '#dist/platform/config/settings.js';
import { dataSourceOptions } from '#dist/platform/database/data-source-options.js';
import { locateDatabase } from '#dist/platform/database/database-location.js';
import { migrate } from '#dist/platform/database/schema/migrate.js';

/** @typedef {import('../../../src/platform/database/database-location.js').DatabaseLocation} DatabaseLocation */
/** @typedef {import('../../../src/platform/config/database-settings.js').DatabaseSettings} DatabaseSettings */
/** @typedef {import('typeorm').DataSourceOptions} DataSourceOptions */

/** @type {Record<string, (location: DatabaseLocation, settings: DatabaseSettings) => Promise<unknown>>} */
const commands = {
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
  migrate,
};

process.on('message', (/** @type {{ command: string, url: string }} */ { command, url }) => {
  void run(command, url).then(
    (value) => process.send?.({ value: value ?? null }),
    (/** @type {unknown} */ error) => process.send?.({ error: String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));

/**
 * @param {string} command
 * @param {string} url
 */
async function run(command, url) {
  const { database: settings } = new Settings({ ...process.env, DATABASE_URL: url });
  return commands[command]?.(await locateDatabase(settings, 'command'), settings);
}

/**
 * Runs work on a data source that knows every entity of the build.
 *
 * @template Result
 * @param {DatabaseLocation} location
 * @param {DatabaseSettings} settings
 * @param {(dataSource: DataSource) => Promise<Result>} work
 */
async function withEntities(location, settings, work) {
  const options = /** @type {DataSourceOptions} */ (
    dataSourceOptions(location.connection, settings)
  );
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

/** @returns {Promise<Function[]>} the entities of the build and of the folder ENTITIES */
async function allEntities() {
  const { ENTITIES } = process.env;
  const folders = [new URL('../../../dist/', import.meta.url)];
  if (ENTITIES) folders.push(pathToFileURL(`${ENTITIES}/`));
  const files = folders.map(async (folder) => {
    const names = await readdir(folder, { recursive: true });
    return names
      .filter((name) => name.endsWith('.entity.js'))
      .map((name) => new URL(name, folder).href);
  });
  const modules = await Promise.all((await Promise.all(files)).flat().map((file) => import(file)));
  return modules.flatMap((module) =>
    Object.values(module).filter((value) => typeof value === 'function'),
  );
}
