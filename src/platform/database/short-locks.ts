import type { EntityManager } from 'typeorm';
import { queryRows } from './sql.js';

/**
 * Runs statements of the open transaction that lock rows. While one waits for a row, it keeps the locks
 * of the rows before it, so it waits for 500 ms at most.
 *
 * @throws Error if another transaction locks one of the rows for longer
 */
export async function withShortLocks<Result>(
  manager: EntityManager,
  work: () => Promise<Result>,
): Promise<Result> {
  await queryRows(manager, "SET LOCAL lock_timeout = '500ms'");
  return work();
}
