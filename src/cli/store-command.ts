import type { Command } from 'commander';
import { type OutputOptions, printResult } from './output.js';
import type { Store, StoreOptions } from './store-session.js';

/** The result of a command, and a note for operators, which is not printed with --json. */
type Result = readonly [result: object, note?: string | undefined];

/** Adds a command with a description and examples, which omit the name of the program. */
export function addCommand(
  parent: Command,
  name: string,
  description: string,
  ...examples: string[]
): Command {
  return addExamples(parent.command(name).description(description), ...examples);
}

/** Adds examples to the help of a command. */
export function addExamples(command: Command, ...examples: string[]): Command {
  const lines = examples.map((example) => `\n  pets ${example}`);
  return command.addHelpText('after', `\nExamples:${lines.join('')}`);
}

/**
 * Adds --json and an action on the store, which is opened for it and closed afterwards. `work`
 * receives the store, the arguments and the options.
 */
export function addStoreAction(
  command: Command,
  work: (store: Store, ...args: never[]) => Promise<Result>,
  options: StoreOptions = {},
): void {
  command.option('--json', 'print the result as JSON').action(async (...args) => {
    // Loaded here, so that help and usage errors do not load the database's libraries.
    const { withStore } = await import('./store-session.js');
    await withStore(options, async (store) => {
      const [result, note] = await work(store, ...(args as never[]));
      const output = command.opts<OutputOptions>();
      await printResult(output, result);
      if (note !== undefined && !output.json) console.error(note);
    });
  });
}
