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
  try {
    return await work();
  } catch (cause) {
    if ((cause as { code?: string }).code !== '55P03') throw cause;
    throw new Error('Another transaction changes one of these rows. Try again.', { cause });
  }
}
