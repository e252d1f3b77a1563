import { createInterface } from 'node:readline';
import type { DatabaseTarget } from '../platform/database/database-target.js';

const RESPONSE_TIMEOUT_MS = 600_000;

/** The option `--yes` confirms a command that runs without a terminal. */
export const YES_OPTION = ['--yes', 'do not ask for confirmation'] as const;

export interface ConfirmationOptions {
  yes?: true;
}

/**
 * Prints the effect of a command and asks for the name of the database, unless it is the embedded
 * one. @throws Error unless the operator confirms
 */
export async function confirm(
  target: DatabaseTarget,
  effect: string,
  { yes }: ConfirmationOptions,
): Promise<void> {
  if (target.embedded) return;
  if (!yes && !process.stdin.isTTY) {
    throw new Error('Standard input is not a terminal. Confirm with --yes.');
  }
  console.error(effect);
  if (yes) return;
  process.stderr.write('Type the name of the database to continue: ');
  if ((await readLine()) !== target.name) {
    throw new Error('The name does not match. Nothing was changed.');
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
