import { readdirSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { loadEnvFile } from '../platform/config/text-file.js';
import { VERSION } from '../platform/config/version.js';
import type { Seed } from '../platform/database/sql.js';
import { addCommand } from './command.js';
import { addDatabaseCommands } from './commands/database.js';
import { addKeysCommands } from './commands/keys.js';
import { addOwnersCommands } from './commands/owners.js';
import { type Options, parseOwner } from './options.js';
import { PRODUCT } from '../product.js';

const FAILURE = 1;
const WRONG_USAGE = 2;

/** Runs a command and prints a failure as one line. Returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    loadEnvFile();
    const words = args.length > 0 ? args : ['--help'];
    await createProgram(words[0] === 'db' ? await loadSeeds() : []).parseAsync(words, {
      from: 'user',
    });
    return 0;
  } catch (error) {
    // The program that started this one reports a package that is missing.
    if (String((error as NodeJS.ErrnoException).code).endsWith('MODULE_NOT_FOUND')) throw error;
    if (error instanceof CommanderError) {
      // Commander has printed the help, the version or the error.
      return error.exitCode === 0 || error.code === 'commander.help' ? 0 : WRONG_USAGE;
    }
    const { code = '' } = error as { code?: string };
    const message = error instanceof Error ? error.message : String(error);
    // docs/operations.md lists the codes of PostgreSQL.
    console.error(oneLine(/^\d[\dA-Z]{4}$/.test(code) ? `${code}: ${message}` : message));
    return FAILURE;
  }
}

/** Returns all commands. They throw CommanderError instead of ending the process. */
function createProgram(seeds: readonly Seed[]): Command {
  const program = new Command(PRODUCT.command)
    .description(`Manage the API keys, owners and database of the ${PRODUCT.title}.`)
    .version(VERSION, '--version', 'print the version')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${oneLine(text)}\n`) })
    .showSuggestionAfterError(false);
  const group = (name: string, description: string): Command =>
    program.command(name).description(description);
  addKeysCommands(group('keys', 'manage API keys'));
  addOwnersCommands(group('owners', 'manage the owners of API keys and their plans'));
  const audit = group('audit', 'show what operators changed');
  addCommand(audit, 'list', 'list changes, newest first', async (store, { owner }: Options) => [
    await store.audit(owner),
  ]).option('--owner <name>', 'only changes of this owner and its API keys', parseOwner);
  addDatabaseCommands(group('db', 'manage the database schema and add generated rows'), seeds);
  return program;
}

const API_KEYS = new RegExp(`${PRODUCT.keyPrefix}\\w+`, 'g');

/** Returns `SEED` of the files `NAME.seed.js` in the folders of the features. */
async function loadSeeds(): Promise<Seed[]> {
  const root = new URL('../', import.meta.url);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const seeds = files.filter((name) => /^[^/\\]+[/\\][^/\\]+\.seed\.js$/.test(name)).sort();
  const modules = seeds.map((name) => import(new URL(name, root).href) as Promise<{ SEED: Seed }>);
  return (await Promise.all(modules)).map(({ SEED }) => SEED);
}

/** Returns a text without line ends, control characters and API keys: logs often contain it. */
function oneLine(text: string): string {
  return text
    .trim()
    .replace(/\s*\n\s*/g, '; ')
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}')
    .replace(API_KEYS, `${PRODUCT.keyPrefix}…`);
}
