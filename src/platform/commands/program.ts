import type { Type } from '@nestjs/common';
import { Command, CommanderError } from 'commander';
import type { OpenApplication } from './application.js';
import { type CommandGroups, commandsOf } from './command.decorator.js';
import { LinesError } from './lines-error.js';
import { printable } from './printable.js';
import { keyForms } from '../config/key-forms.js';
import { endProcess, limitNameLookups } from '../config/name-lookups.js';
import { prepareEnvironment } from '../config/env-file.js';
import { currentBuild } from '../config/version.js';
import type { Product, StoreOptions } from '../config/product.js';

const EXIT_LIMIT_MS = 1_000;
const FAILURE = 1;
const WRONG_USAGE = 2;

/** The commands that every product has. */
const ADMINISTRATION: CommandGroups = {
  keys: {
    description: 'manage API keys',
    load: async () => (await import('./administration/keys.commands.js')).KeysCommands,
  },
  owners: {
    description: 'manage the owners of API keys and their plans',
    load: async () => (await import('./administration/owners.commands.js')).OwnersCommands,
  },
  audit: {
    description: 'show what operators changed',
    load: async () => (await import('./administration/audit.commands.js')).AuditCommands,
  },
  db: {
    description: 'manage the database schema',
    load: async () => (await import('./administration/db.commands.js')).DbCommands,
  },
};

type LoadRoot = () => Promise<Type>;

/** What the root of the project passes to the program. */
export interface Project extends StoreOptions {
  /** The commands of the features. */
  readonly commands: CommandGroups;
  /** Loads AppModule, in which the commands of the features run. */
  readonly loadRoot: LoadRoot;
  /** Opens the application instead, in tests. The command closes it. */
  readonly open?: OpenApplication;
}

/** Runs a command as the process, which ends with its exit code. */
export async function runProcess(args: readonly string[], project: Project): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    // The failed write reports the error. Without a listener, the event would end the process.
    stream.on('error', () => undefined);
  }
  process.exitCode = await run(args, project);
  // A connection that the server leaves open must not keep the process.
  setTimeout(endProcess, EXIT_LIMIT_MS).unref();
}

/** Runs a command and prints a failure, as one line unless it is a list. Returns the exit code. */
export async function run(args: readonly string[], project: Project): Promise<number> {
  try {
    prepareEnvironment(project.product.folder);
    limitNameLookups();
    const isHelp = args.length === 0 || args[0] === 'help';
    const words = isHelp ? args.slice(1) : [...args];
    const program = await createProgram(words, project);
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
    const text = /^\d[\dA-Z]{4}$/.test(code) ? `${code}: ${message}` : message;
    const keepsLines = process.stderr.isTTY || error instanceof LinesError;
    const lines = keepsLines ? text.split('\n') : [text];
    for (const line of lines) console.error(oneLine(line, project.product));
    return FAILURE;
  }
}

/**
 * Returns the program with all groups of commands. Only the group of the first word has its commands, so
 * that no other code is loaded. The program throws CommanderError instead of ending the process.
 */
async function createProgram(words: readonly string[], project: Project): Promise<Command> {
  const { product, plans, commands, loadRoot } = project;
  const program = new Command(product.command)
    .description(`Manage the API keys, owners and database of the ${product.title}.`)
    .version(
      words.includes('--version') ? await versionLine(product) : '',
      '--version',
      'print the version',
    )
    .exitOverride()
    .showHelpAfterError()
    .configureOutput({ outputError: (text, write) => write(`${oneLine(text, product)}\n`) });
  const add = async (groups: CommandGroups, load: LoadRoot) => {
    for (const [name, { description, load: loadProvider }] of Object.entries(groups)) {
      const group = program.command(name).description(description);
      if (words[0] === name) addCommands(group, await loadProvider(), load, project);
    }
  };
  await add(ADMINISTRATION, async () => {
    const { commandsModule } = await import('./administration/commands.module.js');
    return commandsModule({ product, plans });
  });
  await add(commands, loadRoot);
  return program;
}

/** Reads the commit, so it costs more than the help. */
async function versionLine({ folder }: Product): Promise<string> {
  const { version, commit, commitDate } = await currentBuild(folder);
  return `${version} (commit ${commit}, ${commitDate})`;
}

function hasCommand(program: Command, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true;
  const command = program.commands.find((one) => one.name() === name);
  return command !== undefined && hasCommand(command, rest);
}

/** Adds the commands of a provider, with --json. */
function addCommands(group: Command, provider: Type, loadRoot: LoadRoot, project: Project): void {
  for (const declared of commandsOf(provider)) {
    const command = group.command(declared.name).description(declared.description);
    declared.addArguments(command, project);
    command.option('--json', 'print the result as JSON').action(async (...args) => {
      // Loaded here, because help and usage errors need no application.
      const { runCommand } = await import('./application.js');
      // Registers their entities.
      if (declared.needsEntities) await project.loadRoot();
      const { json } = command.opts<{ json?: true }>();
      const root = await loadRoot();
      await runCommand(project.product, root, { provider, declared, args, json }, project.open);
    });
  }
}

/** Returns a text without line ends, control characters and API keys: logs often contain it. */
function oneLine(text: string, { keyPrefix }: Product): string {
  const line = text
    .trim()
    .replace(/\s*\n\s*(?!\()/g, '; ')
    .replace(/\s+/g, ' ');
  return printable(line).replace(keyForms(keyPrefix).partsInText, `${keyPrefix}…`);
}
