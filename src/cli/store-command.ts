import type { Command } from 'commander';
import { AdministrationRepository } from '../auth/administration/administration.repository.js';
import { KeyAdministration } from '../auth/administration/key-administration.js';
import { currentOperator } from '../auth/administration/operator.js';
import { OwnerAdministration } from '../auth/administration/owner-administration.js';
import type { DatabaseTarget } from '../database/database-target.js';
import type { StatementRunner } from '../database/statement-runner.js';
import type { DatabaseOptions } from './store-session.js';

/** The objects that commands use. */
export interface Store {
  readonly keys: KeyAdministration;
  readonly owners: OwnerAdministration;
  readonly database: StatementRunner;
  readonly target: DatabaseTarget;
  /** The user who runs the command, as `user@host`. */
  readonly operator: string;
}

/** Opens the store for a command and closes it afterwards. */
export async function onStore(
  work: (store: Store) => Promise<void>,
  options: DatabaseOptions = {},
): Promise<void> {
  // Loaded here, so that help and usage errors do not load the database's libraries.
  const { withStore } = await import('./store-session.js');
  await withStore(options, async (database, { target }) => {
    const repository = new AdministrationRepository(database);
    const operator = currentOperator();
    await work({
      keys: new KeyAdministration(repository, operator),
      owners: new OwnerAdministration(repository, operator),
      database,
      target,
      operator,
    });
  });
}

/** Adds --json, which every command accepts. */
export function addJsonOption(command: Command): Command {
  return command.option('--json', 'print the result as JSON');
}
