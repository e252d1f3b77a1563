import { Command } from 'commander';
import { VERSION } from '../platform/config/version.js';
import { addAuditCommands } from './commands/audit-commands.js';
import { addCompletionCommands } from './commands/completion-command.js';
import { addDatabaseCommands } from './commands/database-commands.js';
import { addKeysCommands } from './commands/keys-commands.js';
import { addOwnersCommands } from './commands/owners-commands.js';
import { addExamples } from './store-command.js';

/** Returns all commands. They throw CommanderError instead of ending the process. */
export function createProgram(): Command {
  const program = new Command('pets')
    .description(
      'Manage the API keys, owners and database of the animal adoption store.\nWithout an installed `pets`, run `npm run --silent cli -- COMMAND`.',
    )
    .version(VERSION, '--version', 'print the version')
    .exitOverride()
    // run() prints the error.
    .configureOutput({ writeErr: () => undefined, outputError: () => undefined })
    .showSuggestionAfterError()
    .addHelpText('beforeAll', ({ command, error }) => {
      // Otherwise, `pets keys shwo --help` would succeed.
      const [word = '-'] = command.commands.length > 0 ? command.args : [];
      if (!error && !word.startsWith('-')) command.error(`error: unknown command '${word}'`);
      return '';
    });
  addExamples(
    program,
    'keys issue --owner "City shelter" --plan pro',
    'keys list',
    'keys rotate --help',
  );
  addKeysCommands(program);
  addOwnersCommands(program);
  addAuditCommands(program);
  addDatabaseCommands(program);
  addCompletionCommands(program);
  return program;
}
