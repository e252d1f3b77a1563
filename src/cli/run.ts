import { CommanderError } from 'commander';
import { createProgram } from './program.js';

const FAILURE = 1;
const WRONG_USAGE = 2;
const HELP_HINT = 'Run `pets --help`.';

/** Runs a command and prints a failure as one line. Returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    const [first = '--help', ...rest] = args;
    await createProgram().parseAsync([first, ...rest], { from: 'user' });
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      console.error(describeFailure(error));
      return FAILURE;
    }
    // --help or --version
    if (error.exitCode === 0) return 0;
    console.error(describeUsageError(error));
    return WRONG_USAGE;
  }
}

function describeFailure(error: unknown): string {
  return (error instanceof Error ? error.message : String(error))
    .trim()
    .replace(/\s*\n\s*/g, '; ')
    .replace(/\s+/g, ' ');
}

function describeUsageError({ code, message }: CommanderError): string {
  if (code === 'commander.help') return `Missing command. ${HELP_HINT}`;
  const reason = message
    .replace(/^error: /, '')
    .replace(/\s+/g, ' ')
    // An argument can contain characters that control a terminal.
    .replace(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}')
    // Standard error is often logged. Hide a key that was given instead of its id.
    .replace(/aas_\w+/g, 'aas_…')
    .replace(/\.$/, '');
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}. ${HELP_HINT}`;
}
