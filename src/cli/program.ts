import { Command } from 'commander';
import { addDatabaseCommands } from './commands/database-commands.js';
import { addKeysCommands } from './commands/keys-commands.js';
import { addOwnersCommands } from './commands/owners-commands.js';

/** Returns all commands. They throw CommanderError instead of ending the process. */
export function createProgram(): Command {
  const program = new Command('pets')
    .description('Manage the API keys, owners and database of the animal adoption store.')
    .exitOverride()
    // run() prints the error.
    .configureOutput({ writeErr: () => undefined, outputError: () => undefined })
    .showSuggestionAfterError();
  addKeysCommands(program);
  addOwnersCommands(program);
  addDatabaseCommands(program);
  return program;
}
