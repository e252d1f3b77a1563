import type { Command } from 'commander';
import { addCommand } from '../command.js';
import { confirm, YES_OPTION } from '../confirmation.js';
import { countUpTo } from '../options.js';

const MAX_ANIMALS = 100_000_000;

export function addDatabaseCommands(database: Command): void {
  addCommand(
    database,
    'migrate',
    'execute all pending migrations',
    async (store) => [{ executed: await store.migrate() }],
    { create: true, anySchema: true },
  );

  addCommand(
    database,
    'status',
    'list the executed migrations, newest first, and the pending ones',
    async (store) => [await store.migrationStatus()],
    { anySchema: true },
  );

  addCommand(
    database,
    'seed',
    'add animals of varied names, categories and statuses',
    async ({ seed, target }, options: { animals: number; yes?: true }) => {
      const { animals } = options;
      await confirm(target, `This adds ${animals} animals to ${target.description}.`, options);
      await seed(animals);
      return [{ animals }];
    },
    { create: true },
  )
    .requiredOption('--animals <n>', 'number of animals', countUpTo(MAX_ANIMALS))
    .option(...YES_OPTION);
}
