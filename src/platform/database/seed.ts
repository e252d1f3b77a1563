import type { StatementRunner } from './sql.js';

/** Rows that the command `db seed` can add. A feature exports one as `SEED` of a file `NAME.seed.ts`. */
export interface Seed {
  /** The option with their number, and their name in messages. */
  readonly rows: string;
  /** The description of the option, in the form of a command. */
  readonly description: string;
  readonly add: (database: StatementRunner, count: number) => Promise<void>;
}
