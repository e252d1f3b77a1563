import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { DatabaseTarget } from '../database/database-target.js';
import { CommandError } from './command-error.js';

const RESPONSE_TIMEOUT_MS = 600_000;

export interface ConfirmationOptions {
  yes?: true;
}

/** Adds --yes, the confirmation of a command that runs without a terminal. */
export function addYesOption(command: Command): Command {
  return command.option('--yes', 'do not ask for confirmation');
}

/**
 * Asks the operator to type the name of the database. The embedded database needs no confirmation.
 *
 * @param effect what the command will do, as a sentence
 * @throws CommandError unless the operator confirms
 */
export async function confirm(
  target: DatabaseTarget,
  effect: string,
  { yes }: ConfirmationOptions,
): Promise<void> {
  if (target.embedded) return;
  if (!yes && !process.stdin.isTTY) {
    throw new CommandError('Standard input is not a terminal. Confirm with --yes.');
  }
  console.error(effect);
  if (yes) return;
  process.stderr.write('Type the name of the database to continue: ');
  if ((await readLine()) !== target.name) {
    throw new CommandError('The name does not match. Nothing was changed.');
  }
}

/** Returns a line of standard input, or '' at its end or after ten minutes. */
async function readLine(): Promise<string> {
  const lines = createInterface({
    input: process.stdin,
    signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
  });
  try {
    for await (const line of lines) return line.trim();
    return '';
  } finally {
    // Otherwise, standard input keeps the process running.
    lines.close();
  }
}
