import type { Command } from 'commander';
import { addJsonOption } from './command-options.js';
import { type OutputOptions, printResult } from './output.js';
import type { DatabaseOptions, Store } from './store-session.js';

/** The result of a command: what --json prints, and what is printed otherwise. */
type Result = readonly [json: object, text: string];

/**
 * Adds --json and an action on the store, which is opened for it and closed afterwards. `work`
 * receives the store, the arguments and the options, and returns what to print.
 */
export function addStoreAction(
  command: Command,
  work: (store: Store, ...args: never[]) => Promise<Result>,
  options: DatabaseOptions = {},
): void {
  addJsonOption(command).action(async (...args) => {
    // Loaded here, so that help and usage errors do not load the database's libraries.
    const { withStore } = await import('./store-session.js');
    await withStore(options, async (store) => {
      const [json, text] = await work(store, ...(args as never[]));
      await printResult(command.opts<OutputOptions>(), json, text);
    });
  });
}
