import { CommanderError } from 'commander';
import { describeFailure } from './describe-failure.js';
import { createProgram } from './program.js';

const FAILURE = 1;
const WRONG_USAGE = 2;

/** Runs the command of the arguments. Returns the exit code; a failure is one line on standard error. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      console.error(describeFailure(error));
      return FAILURE;
    }
    // Help that was asked for.
    if (error.exitCode === 0) return 0;
    console.error(describeUsageError(error));
    return WRONG_USAGE;
  }
}

function describeUsageError({ code, message }: CommanderError): string {
  const reason =
    code === 'commander.help'
      ? 'a command is missing'
      : message
          .replace(/^error: /, '')
          .replace(/\s+/g, ' ')
          // A key in the place of its number: standard error often ends up in logs.
          .replace(/aas_\w+/g, 'aas_…');
  return `${reason} — the option --help tells how a command is used`;
}
