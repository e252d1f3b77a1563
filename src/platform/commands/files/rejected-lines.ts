import type { EntityManager } from 'typeorm';
import { queryRows } from '../../database/sql.js';

/** Bounds how often the lines are tried again. */
const MAX_FOUND = 20;
const MAX_VALUE = 100;
/** SQLSTATEs of values that do not fit a column, of violated constraints, and of a trigger's own error. */
const REJECTED_VALUE = /^(?:22|23|P0001)/;

/** Fields of an error of PostgreSQL. */
type DatabaseError = Partial<
  Record<'code' | 'column' | 'constraint' | 'detail' | 'message', string>
>;

/** A line of a file, and why it is invalid. */
export type InvalidLine = readonly [line: number, reason: string];

/** Lines of a file that the database rejects, in ascending order: all, or the first 20. */
export class RejectedLines extends Error {
  constructor(
    readonly lines: readonly InvalidLine[],
    cause: unknown,
  ) {
    super('The database rejects lines of the file.', { cause });
  }

  /** Whether there may be more. */
  get isCut(): boolean {
    return this.lines.length === MAX_FOUND;
  }
}

/**
 * Runs a statement for a range of lines, in the open transaction. If the database rejects a value, halves
 * the range until it knows the lines.
 *
 * The search stores the accepted lines. So the caller must not catch RejectedLines and commit.
 *
 * @param nameOf returns the name that a column of the table has in the file
 * @param store runs the statement for the lines from one number to another
 * @throws RejectedLines
 */
export async function inAcceptedLines<Result>(
  manager: EntityManager,
  nameOf: (column: string) => string,
  range: readonly [number, number],
  store: (from: number, to: number) => Promise<Result>,
): Promise<Result> {
  const { results, rejected, error } = await storeAccepted(
    manager,
    nameOf,
    range,
    store,
    MAX_FOUND,
  );
  if (!error) return results[0] as Result;
  // Each line alone was accepted: the order of the lines matters.
  if (rejected.length === 0) throw error;
  throw new RejectedLines(rejected, error);
}

/**
 * The same, but keeps what the database accepts. Returns the results of the statement, the rejected lines,
 * and the first error.
 *
 * @param limit of rejected lines, after which it stops
 */
export async function storeAccepted<Result>(
  manager: EntityManager,
  nameOf: (column: string) => string,
  [first, last]: readonly [number, number],
  store: (from: number, to: number) => Promise<Result>,
  limit = Infinity,
) {
  const results: Result[] = [];
  const rejected: InvalidLine[] = [];
  let firstError: Error | undefined;
  const storeRange = async (from: number, to: number): Promise<void> => {
    if (rejected.length === limit) return;
    await queryRows(manager, 'SAVEPOINT lines');
    try {
      const result = await store(from, to);
      await queryRows(manager, 'RELEASE SAVEPOINT lines');
      results.push(result);
      return;
    } catch (error) {
      if (!REJECTED_VALUE.test(String((error as DatabaseError).code))) throw error;
      await queryRows(manager, 'ROLLBACK TO SAVEPOINT lines');
      await queryRows(manager, 'RELEASE SAVEPOINT lines');
      firstError ??= error as Error;
      if (from === to) {
        rejected.push([from, reasonOf(error as DatabaseError, nameOf)]);
        return;
      }
    }
    const middle = Math.floor((from + to) / 2);
    await storeRange(from, middle);
    await storeRange(middle + 1, to);
  };
  // Otherwise, the commit would report a deferred constraint.
  await queryRows(manager, 'SET CONSTRAINTS ALL IMMEDIATE');
  await storeRange(first, last);
  return { results, rejected, error: firstError };
}

function reasonOf(error: DatabaseError, nameOf: (column: string) => string): string {
  const { code = '', column, constraint, detail = '', message } = error;
  // The detail depends on the language of the server, but not this part. It is missing if the role may not read the table.
  const [, names = '', value] = /\((.*?)\)=\((.*)\)/s.exec(detail) ?? [];
  const given = `${names.split(', ').map(nameOf).join(', ')} is ${value?.slice(0, MAX_VALUE)}`;
  if (code === '23505' && value !== undefined)
    return `${given}, which a stored row or an earlier line already has`;
  if (code === '23503' && value !== undefined)
    return `${given}, which refers to a row that does not exist`;
  if (code === '23502') return `${nameOf(column ?? '')} is required`;
  if (constraint !== undefined) return `the constraint ${constraint} does not allow it`;
  return `the database rejects it (${code}: ${message})`;
}
