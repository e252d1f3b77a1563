import { type Command, CommanderError } from 'commander';
import { commandOf } from './commands/completion-command.js';
import { createProgram } from './program.js';

const FAILURE = 1;
const WRONG_USAGE = 2;

/** An API key, or a part of one, that was given instead of an id or a name. Logs often contain standard error. */
const API_KEY = /aas_\w+/g;

/** Runs a command and prints a failure as one line. Returns the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  const program = createProgram();
  try {
    const [first = '--help', ...rest] = args;
    await program.parseAsync([first, ...rest], { from: 'user' });
    return 0;
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      console.error(describeFailure(error));
      return FAILURE;
    }
    // --help or --version
    if (error.exitCode === 0) return 0;
    console.error(`${describeUsageError(error)}. ${helpHint(commandOf(program, args))}`);
    return WRONG_USAGE;
  }
}

function describeFailure(error: unknown): string {
  return (error instanceof Error ? error.message : String(error))
    .trim()
    .replace(/\s*\n\s*/g, '; ')
    .replace(/\s+/g, ' ')
    .replace(API_KEY, 'aas_…');
}

function describeUsageError({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'Missing command';
  const reason = message
    .replace(/^error: /, '')
    .replace(/\s+/g, ' ')
    // An argument can contain characters that control a terminal.
    .replace(/[\p{Cc}\p{Cf}]/gu, '\u{fffd}')
    .replace(API_KEY, 'aas_…')
    .replace(/\.$/, '');
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}`;
}

function helpHint(command: Command): string {
  const names: string[] = [];
  for (let each: Command | null = command; each; each = each.parent) names.unshift(each.name());
  return `Run \`${names.join(' ')} --help\`.`;
}
