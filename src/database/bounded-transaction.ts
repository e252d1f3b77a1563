import type { DataSource, EntityManager } from 'typeorm';
import { CLIENT_TIMEOUT_MARGIN_MS } from './pools/client-config.js';
import type { ServiceClient } from './pipelining/service-client.js';

/**
 * Does work in one transaction: committed when the work is done, rolled back when it throws. As a whole
 * it has no longer than a single statement, plus the wait for a connection: after that the connection
 * is given up, and with it the transaction.
 *
 * @param limitMs the time limit of a statement
 * @param work runs its statements on the manager that it is handed, and on no other
 * @throws what the work throws, or an error that `isUnavailable` holds for
 */
export async function boundedTransaction<Result>(
  dataSource: DataSource,
  limitMs: number,
  work: (transaction: EntityManager) => Promise<Result>,
): Promise<Result> {
  const runner = dataSource.createQueryRunner();
  try {
    const connection = (await runner.connect()) as ServiceClient;
    const deadline = setTimeout(() => connection.abandon(), limitMs + CLIENT_TIMEOUT_MARGIN_MS);
    try {
      return await runner.manager.transaction(work);
    } finally {
      clearTimeout(deadline);
    }
  } finally {
    await runner.release();
  }
}
