import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Injectable } from '@nestjs/common';
import { Settings } from '../config/settings.js';
import { DatabaseLocation } from '../database/database-location.js';
import { printable } from './printable.js';
import { tableText } from './table.js';

/** A change of more rows asks for confirmation. */
const MAX_UNASKED = 20;

/** A row that a command changes: the value of each property before and after it. */
export interface RowChange {
  readonly id: bigint;
  readonly changes: Readonly<Record<string, readonly [before: unknown, after: unknown]>>;
}

/** Returns the changes of the first rows for a table, with one line for each property. */
export function changedValues(changes: readonly RowChange[]) {
  return changes.slice(0, MAX_UNASKED).flatMap((row) =>
    Object.entries(row.changes).map(([property, [before, after]]) => {
      return { id: row.id, property, before, after };
    }),
  );
}

/** The terminal of the operator: asks for confirmation, and shows notes and progress on standard error. */
@Injectable()
export class Terminal {
  /** Lines that are printed after the result, unless it is JSON. */
  readonly notes: string[] = [];

  constructor(
    readonly database: DatabaseLocation,
    private readonly settings: Settings,
  ) {}

  /** The command of the product, such as `pets`, for sentences that say what to do. */
  get command(): string {
    return this.settings.product.command;
  }

  note(text: string): void {
    this.notes.push(text);
  }

  /**
   * Prints the effect of a command and asks for the name of the database, unless it is the embedded
   * one.
   *
   * @param effect a sentence, or several lines
   * @param always also asks about the embedded database
   * @throws Error unless the operator confirms
   */
  async confirm(
    effect: string | readonly string[],
    { yes }: { yes?: true },
    always = false,
  ): Promise<void> {
    const { embedded, name } = this.database;
    if (embedded && !always) return;
    if (!yes && !process.stdin.isTTY) {
      throw new Error('Standard input is not a terminal. Confirm with --yes.');
    }
    for (const line of [effect].flat()) console.error(printable(line));
    if (yes) return;
    // Without `terminal`, Ctrl-C ends the process as usual.
    const streams = { input: process.stdin, output: process.stderr };
    const lines = createInterface({ ...streams, terminal: false });
    const asked = embedded ? name : 'the name of the database';
    const question = lines.question(`Type ${asked} to continue: `);
    const typed = await Promise.race([question, once(lines, 'close')]);
    lines.close();
    if (typed !== name) {
      throw new Error('The name does not match. Nothing was changed.');
    }
  }

  /**
   * Shows the first changes and asks, if more than 20 rows change.
   *
   * @param name of the rows, such as `toys`
   * @param warnings are shown after the changes
   * @throws Error unless the operator confirms
   */
  async confirmChanges(
    name: string,
    changes: readonly RowChange[],
    options: { yes?: true },
    warnings: readonly string[] = [],
  ): Promise<void> {
    if (changes.length <= MAX_UNASKED) return;
    const { description } = this.database;
    const effect = `This changes ${changes.length} ${name} in ${description}. The first ${MAX_UNASKED}:`;
    const table = tableText(changedValues(changes)).split('\n');
    await this.confirm([effect, ...table, ...warnings], options, true);
  }

  /** Replaces the line of progress on a terminal. Without a text, removes it. */
  progress(text = ''): void {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  }
}
