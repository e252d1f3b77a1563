import type { Command } from 'commander';
import { CommandError } from './command-error.js';
import { parseAnimals } from './option-values.js';
import { type OutputOptions, printResult, showProgress } from './output.js';
import { addJsonOption, onStore } from './store-command.js';
import { textTable } from './text-table.js';

/** Adds `db` and its commands. */
export function addDatabaseCommands(program: Command): void {
  const database = program
    .command('db')
    .description('the schema of the database, and animals to try it with');
  addMigrate(database);
  addRevert(database);
  addStatus(database);
  addSeed(database);
}

function addMigrate(database: Command): void {
  const command = database.command('migrate').description('bring the schema up to date');
  addJsonOption(command).action(async (options: OutputOptions) => {
    const [{ withDatabase }, { migrate }] = await Promise.all(migrationModules());
    await withDatabase(async (location, settings) => {
      const executed = await migrate(location, settings);
      const text = executed.map((name) => `Executed ${name}.\n`).join('');
      await printResult(options, { executed }, text || 'The schema was up to date.\n');
    });
  });
}

function addRevert(database: Command): void {
  const command = database
    .command('revert')
    .description('take back the newest migration, and with it the data that it made room for');
  addJsonOption(command).action(async (options: OutputOptions) => {
    const [{ withDatabase }, { revertMigration }] = await Promise.all(migrationModules());
    await withDatabase(async (location, settings) => {
      const reverted = await revertMigration(location, settings);
      if (reverted === undefined) throw new CommandError('there is no migration to take back');
      await printResult(options, { reverted }, `Took back ${reverted}.\n`);
    });
  });
}

function addStatus(database: Command): void {
  const command = database
    .command('status')
    .description('tell which migrations were executed, newest first');
  addJsonOption(command).action(async (options: OutputOptions) => {
    const [{ withConnection }, { migrationStatus }] = await Promise.all([
      import('./store-session.js'),
      import('../database/migration-status.js'),
    ]);
    await withConnection(async (connection) => {
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
  const command = database
    .command('seed')
    .description('add animals of varied names, categories and statuses')
    .requiredOption('--animals <n>', 'how many', parseAnimals);
  addJsonOption(command).action(
    async ({ animals, ...options }: OutputOptions & { animals: number }) => {
      const { seedAnimals } = await import('../pets/pets-seed.repository.js');
      await onStore(async ({ database }) => {
        try {
          await seedAnimals(database, animals, (added) =>
            showProgress(`${added} of ${animals} animals`),
          );
        } finally {
          showProgress('');
        }
        await printResult(options, { animals }, `Added ${animals} animals.\n`);
      });
    },
  );
}

/** Loaded only now: all other commands do without TypeORM, help and wrong usage without any of this. */
function migrationModules() {
  return [import('./store-session.js'), import('../database/migrate.js')] as const;
}
