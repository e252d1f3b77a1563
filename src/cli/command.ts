import type { Command } from 'commander';
import { jsonText } from '../platform/http/response/json-text.js';
import { resultText } from './result-text.js';
import type { Store, StoreOptions } from './store.js';

/** The result of a command, and a note for operators, which is not printed with --json. */
type Result = readonly [result: object, note?: string | undefined];

/**
 * Adds a command with --json, on a store that is opened for it and closed afterwards.
 *
 * @param work receives the store, the arguments and the options
 */
export function addCommand(
  parent: Command,
  name: string,
  description: string,
  work: (store: Store, ...args: never[]) => Promise<Result>,
  storeOptions: StoreOptions = {},
): Command {
  const command = parent.command(name).description(description);
  return command.option('--json', 'print the result as JSON').action(async (...args) => {
    // Loaded here, so that help and usage errors do not load the database's libraries.
    const { withStore } = await import('./store.js');
    await withStore(storeOptions, async (store) => {
      const [result, note] = await work(store, ...(args as never[]));
      const { json } = command.opts<{ json?: true }>();
      console.log(json ? jsonText(result) : resultText(result));
      if (note !== undefined && !json) console.error(note);
    });
  });
}
