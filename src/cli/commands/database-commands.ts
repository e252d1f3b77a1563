import type { Command } from 'commander';
import { confirm, type ConfirmationOptions, YES_OPTION } from '../confirmation.js';
import { countUpTo } from './option-values.js';
import { showProgress } from '../output.js';
import { addCommand, addStoreAction } from '../store-command.js';

const MAX_ANIMALS = 100_000_000;

export function addDatabaseCommands(program: Command): void {
  const description = 'manage the database schema and add generated animals';
  const database = addCommand(program, 'db', description, 'db status', 'db migrate');
  addMigrate(database);
  addStatus(database);
  addSeed(database);
}

function addMigrate(database: Command): void {
  const command = addCommand(database, 'migrate', 'execute all pending migrations', 'db migrate');
  addStoreAction(command, async (store) => [{ executed: await store.migrate() }], {
    create: true,
    anySchema: true,
  });
}

function addStatus(database: Command): void {
  const description = 'list the executed migrations, newest first, and the pending ones';
  const command = addCommand(database, 'status', description, 'db status');
  addStoreAction(
    command,
    async (store) => {
      const { migrationStatus } =
        await import('../../platform/database/schema/migration-status.js');
      return [await migrationStatus(store.database)];
    },
    { anySchema: true },
  );
}

function addSeed(database: Command): void {
  const description = 'add animals of varied names, categories and statuses';
  const command = addCommand(database, 'seed', description, 'db seed --animals 1000');
  command
    .requiredOption('--animals <n>', '(required) number of animals', countUpTo(MAX_ANIMALS))
    .option(...YES_OPTION);
  type Options = ConfirmationOptions & { animals: number };
  addStoreAction(
    command,
    async ({ database, target, actions }, { animals, ...options }: Options) => {
      await confirm(target, `This adds ${animals} animals to ${target.description}.`, options);
      // Recorded first, so that an interrupted command has not added animals without a record.
      await actions.record('db seed', { requestedAnimals: animals });
      const { seedAnimals } = await import('../../pets/pets-seed.repository.js');
      const showAdded = (added: number) => showProgress(`${added} of ${animals} animals`);
      const added = await seedAnimals(database, animals, showAdded, firstInterrupt()).finally(() =>
        showProgress(''),
      );
      if (added < animals) {
        throw new Error(`Interrupted. ${added} of ${animals} animals were added.`);
      }
      return [{ animals }];
    },
    { create: true },
  );
}

/** Returns a signal that aborts with the first Ctrl-C; the second one ends the process. */
function firstInterrupt(): AbortSignal {
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  return interrupt.signal;
}
