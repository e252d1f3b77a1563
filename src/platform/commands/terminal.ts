import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { Injectable } from '@nestjs/common';
import { DatabaseLocation } from '../database/database-location.js';
import { printable } from './printable.js';

/** The terminal of the operator: asks for confirmation, and shows notes and progress on standard error. */
@Injectable()
export class Terminal {
  /** Lines that are printed after the result, unless it is JSON. */
  readonly notes: string[] = [];

  constructor(readonly database: DatabaseLocation) {}

  note(text = ''): void {
    if (text) this.notes.push(text);
  }

  /**
   * Prints the effect of a command and asks for the name of the database, unless it is the embedded
   * one.
   *
   * @param always also asks about the embedded database
   * @throws Error unless the operator confirms
   */
  async confirm(effect: string, { yes }: { yes?: true }, always = false): Promise<void> {
    const { embedded, name } = this.database;
    if (embedded && !always) return;
    if (!yes && !process.stdin.isTTY) {
      throw new Error('Standard input is not a terminal. Confirm with --yes.');
    }
    console.error(printable(effect));
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

  /** Replaces the line of progress on a terminal. Without a text, removes it. */
  progress(text = ''): void {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  }
}
