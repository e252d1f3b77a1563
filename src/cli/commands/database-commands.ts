import { type Command, Option } from 'commander';
import { CommandError } from '../command-error.js';
import { confirm, type ConfirmationOptions, YES_OPTION } from '../confirmation.js';
import { countUpTo } from './option-values.js';
import { type OutputOptions, printResult, showProgress } from '../output.js';
import { addCommand, addJsonOption, addRequiredOption } from '../command-options.js';
import { addStoreAction } from '../store-command.js';
import { textTable } from '../text-table.js';

const MAX_ANIMALS = 100_000_000;

/** Adds `db` and its commands. */
export function addDatabaseCommands(program: Command): void {
  const description = 'manage the database schema and add generated animals';
  const database = addCommand(program, 'db', description, 'db status', 'db migrate');
  addMigrate(database);
  addStatus(database);
  addSeed(database);
}

function addMigrate(database: Command): void {
  const command = addCommand(database, 'migrate', 'execute all pending migrations', 'db migrate');
  addJsonOption(command).action(async (options: OutputOptions) => {
    const { migrateDatabase, withDatabase } = await import('../store-session.js');
    await withDatabase({ create: true }, async (target) => {
      const executed = await migrateDatabase(target);
      const text = executed.map((name) => `Executed ${name}.\n`).join('');
      await printResult(options, { executed }, text || 'The schema was up to date.\n');
    });
  });
}

function addStatus(database: Command): void {
  const description = 'list the executed and pending migrations, newest first';
  const command = addCommand(database, 'status', description, 'db status');
  addJsonOption(command).action(async (options: OutputOptions) => {
    const [{ withConnection }, { migrationStatus }] = await Promise.all([
      import('../store-session.js'),
      import('../../platform/database/schema/migration-status.js'),
    ]);
    await withConnection({}, async (connection) => {
      const { executed, pending } = await migrationStatus(connection);
      const rows = [
        ...pending.toReversed().map((name) => [name, 'pending']),
        ...executed.map((name) => [name, 'executed']),
      ];
      await printResult(options, { executed, pending }, textTable(['MIGRATION', 'STATUS'], rows));
    });
  });
}

function addSeed(database: Command): void {
  const description = 'add animals of varied names, categories and statuses';
  const command = addCommand(database, 'seed', description, 'db seed --animals 1000');
  const animals = new Option('--animals <n>', 'number of animals');
  addRequiredOption(command, animals.argParser(countUpTo(MAX_ANIMALS)));
  type Options = ConfirmationOptions & { animals: number };
  addStoreAction(
    command.option(...YES_OPTION),
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
        throw new CommandError(`Interrupted. ${added} of ${animals} animals were added.`);
      }
      return [{ animals }, `Added ${animals} animals.\n`];
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
