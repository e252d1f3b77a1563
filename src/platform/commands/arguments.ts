import { InvalidArgumentError } from 'commander';
import { parseInt64 } from '../http/validation/int64.pipe.js';

// Parsers of arguments and options for commander. They throw InvalidArgumentError: a usage error.

export function parseInt64Argument(text: string): bigint {
  const value = parseInt64(text);
  if (value !== undefined) return value;
  throw new InvalidArgumentError('Expected an int64.');
}

/** Returns a parser of integers from 1 to max. */
export function countUpTo(max: number): (text: string) => number {
  return (text) => {
    if (/^[1-9]\d{0,9}$/.test(text) && Number(text) <= max) return Number(text);
    throw new InvalidArgumentError(`Expected an integer from 1 to ${max}.`);
  };
}

/** Returns a parser for an argument with several values: `.argument('<ids...>', '…', each(parseInt64Argument))`. */
export function each<Value>(parse: (text: string) => Value) {
  return (text: string, previous: Value[] = []): Value[] => [...previous, parse(text)];
}

/** The option `--yes` confirms a command that runs without a terminal. */
export const YES_OPTION = ['--yes', 'do not ask for confirmation'] as const;
