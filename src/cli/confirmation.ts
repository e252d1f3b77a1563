import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { DatabaseLocation } from '../platform/database/database-location.js';

/** The option `--yes` confirms a command that runs without a terminal. */
export const YES_OPTION = ['--yes', 'do not ask for confirmation'] as const;

/**
 * Prints the effect of a command and asks for the name of the database, unless it is the embedded
 * one. @throws Error unless the operator confirms
 */
export async function confirm(
  target: DatabaseLocation,
  effect: string,
  { yes }: { yes?: true },
): Promise<void> {
  if (target.embedded) return;
  if (!yes && !process.stdin.isTTY) {
    throw new Error('Standard input is not a terminal. Confirm with --yes.');
  }
  console.error(effect);
  if (yes) return;
  // Without `terminal`, Ctrl-C ends the process as usual.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const question = lines.question('Type the name of the database to continue: ');
  const typed = await Promise.race([question, once(lines, 'close')]);
  lines.close();
  if (typed !== target.name) throw new Error('The name does not match. Nothing was changed.');
}
