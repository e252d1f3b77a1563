import type { Type } from '@nestjs/common';
import { Command, CommanderError } from 'commander';
import { type CommandGroups, commandsOf } from '../platform/commands/command.decorator.js';
import { LinesError } from '../platform/commands/lines-error.js';
import { printable } from '../platform/commands/printable.js';
import { keyForms } from '../platform/config/key-forms.js';
import { limitNameLookups } from '../platform/config/name-lookups.js';
import { prepareEnvironment } from '../platform/config/env-file.js';
import { currentBuild } from '../platform/config/version.js';
import { PRODUCT } from '../product.js';

const FAILURE = 1;
const WRONG_USAGE = 2;
/** A SQLSTATE. */
const DISK_FULL = '53100';

/** The commands of this folder. */
const OWN_COMMANDS: CommandGroups = {
  keys: {
    description: 'manage API keys',
    load: async () => (await import('./keys.commands.js')).KeysCommands,
  },
  owners: {
    description: 'manage the owners of API keys and their plans',
    load: async () => (await import('./owners.commands.js')).OwnersCommands,
  },
  audit: {
    description: 'show what operators changed',
    load: async () => (await import('./audit.commands.js')).AuditCommands,
  },
  db: {
    description: 'manage the database schema',
    load: async () => (await import('./db.commands.js')).DbCommands,
  },
};

type LoadRoot = () => Promise<Type>;

/** What the root of the project adds to the commands of this folder. */
export interface Features {
  readonly commands: CommandGroups;
  /** Loads AppModule, in which the commands of the features run. */
  readonly loadRoot: LoadRoot;
}

/** Runs a command and prints a failure, as one line unless it is a list. Returns the exit code. */
export async function run(args: readonly string[], features: Features): Promise<number> {
  try {
    prepareEnvironment(PRODUCT.folder);
    limitNameLookups();
    const isHelp = args.length === 0 || args[0] === 'help';
    const words = isHelp ? args.slice(1) : [...args];
    const program = await createProgram(words, features);
    // An unknown command has no help. Commander reports it, with a suggestion.
    if (isHelp && hasCommand(program, words.slice(0, 2))) words.push('--help');
    await program.parseAsync(words, { from: 'user' });
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
    // docs/runbook.md lists the codes of PostgreSQL.
    const reason =
      code === DISK_FULL ? 'The disk of the database is full. Nothing was added or changed: ' : '';
    const text = /^\d[\dA-Z]{4}$/.test(code) ? `${code}: ${reason}${message}` : message;
    const isList = process.stderr.isTTY || error instanceof LinesError;
    const lines = isList ? text.split('\n') : [text];
    for (const line of lines) console.error(oneLine(line));
    return FAILURE;
  }
}

/**
 * Returns the commands that start with the same word as these. Of all others, which the help lists, it
 * does not load the code. They throw CommanderError instead of ending the process.
 */
async function createProgram(
  words: readonly string[],
  { commands, loadRoot }: Features,
): Promise<Command> {
  const program = new Command(PRODUCT.command)
    .description(`Manage the API keys, owners and database of the ${PRODUCT.title}.`)
    .version(
      words.includes('--version') ? await versionLine() : '',
      '--version',
      'print the version',
    )
    .exitOverride()
    .showHelpAfterError()
    .configureOutput({ outputError: (text, write) => write(`${oneLine(text)}\n`) });
  const add = async (groups: CommandGroups, load: LoadRoot) => {
    for (const [name, { description, load: loadProvider }] of Object.entries(groups)) {
      const group = program.command(name).description(description);
      if (words[0] === name) addCommands(group, await loadProvider(), load, loadRoot);
    }
  };
  await add(OWN_COMMANDS, loadCliModule);
  await add(commands, loadRoot);
  return program;
}

/** Reads the commit, so it costs more than the help. */
async function versionLine(): Promise<string> {
  const { version, commit, commitDate } = await currentBuild(PRODUCT.folder);
  return `${version} (commit ${commit}, ${commitDate})`;
}

function hasCommand(program: Command, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true;
  const command = program.commands.find((one) => one.name() === name);
  return command !== undefined && hasCommand(command, rest);
}

const loadCliModule: LoadRoot = async () => (await import('./cli.module.js')).CliModule;

/** Adds the commands of a provider, with --json. */
function addCommands(
  group: Command,
  provider: Type,
  loadRoot: LoadRoot,
  loadFeatures: LoadRoot,
): void {
  for (const declared of commandsOf(provider)) {
    const command = group.command(declared.name).description(declared.description);
    declared.usage(command);
    command.option('--json', 'print the result as JSON').action(async (...args) => {
      // Loaded here, because help and usage errors need no application.
      const { runCommand } = await import('./application.js');
      // Registers their entities.
      if (declared.needsEntities) await loadFeatures();
      await runCommand(await loadRoot(), provider as Type<never>, declared, command, args);
    });
  }
}

const { partsInText: API_KEYS } = keyForms(PRODUCT.keyPrefix);

/** Returns a text without line ends, control characters and API keys: logs often contain it. */
function oneLine(text: string): string {
  const line = text
    .trim()
    .replace(/\s*\n\s*(?!\()/g, '; ')
    .replace(/\s+/g, ' ');
  return printable(line).replace(API_KEYS, `${PRODUCT.keyPrefix}…`);
}
