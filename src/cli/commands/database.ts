import type { Command } from 'commander';
import type { Seed } from '../../platform/database/sql.js';
import { addCommand } from '../command.js';
import { confirm, countUpTo, YES_OPTION } from '../options.js';

const MAX_ROWS = 100_000_000;

/** @param seeds what the features can add */
export function addDatabaseCommands(database: Command, seeds: readonly Seed[]): void {
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
    'copy-embedded',
    'copy the embedded database of DATA_DIR to the empty one of DATABASE_URL',
    async (store) => [await store.copyEmbedded(), 'Not copied: the demo owner and its API keys.'],
  );

  if (seeds.length === 0) return;
  const command = addCommand(
    database,
    'seed',
    'add generated rows',
    async ({ seed, target }, options: Record<string, number> & { yes?: true }) => {
      const chosen = seeds.filter(({ rows }) => options[rows] !== undefined);
      if (chosen.length === 0) command.error(`error: expected --${seeds[0]?.rows} <n>`);
      const counts = Object.fromEntries(chosen.map(({ rows }) => [rows, options[rows] ?? 0]));
      const effect = chosen.map(({ rows }) => `${counts[rows]} ${rows}`).join(' and ');
      await confirm(target, `This adds ${effect} to ${target.description}.`, options);
      for (const each of chosen) await seed(each, counts[each.rows] ?? 0);
      return [counts];
    },
    { create: true },
  );
  for (const { rows, description } of seeds) {
    command.option(`--${rows} <n>`, description, countUpTo(MAX_ROWS));
  }
  command.option(...YES_OPTION);
}
