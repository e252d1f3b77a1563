import { Command } from 'commander';
import { addDatabaseCommands } from './commands/database-commands.js';
import { addKeysCommands } from './commands/keys-commands.js';
import { addOwnersCommands } from './commands/owners-commands.js';

/** Returns all commands. They throw a CommanderError where commander would end the process, and write no errors. */
export function createProgram(): Command {
  const program = new Command('pets')
    .description('Operates the animal adoption store: its keys, owners and database.')
    .exitOverride()
    // The one line that is written of an error is written where the error arrives.
    .configureOutput({ writeErr: () => undefined, outputError: () => undefined })
    .showSuggestionAfterError();
  addKeysCommands(program);
  addOwnersCommands(program);
  addDatabaseCommands(program);
  return program;
}
