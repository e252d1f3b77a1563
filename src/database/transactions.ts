import type { DataSource, EntityManager } from 'typeorm';
import { CLIENT_TIMEOUT_MARGIN_MS } from './pools/client-config.js';
import type { ServiceClient } from './pipelining/service-client.js';

/**
 * Does the work in one transaction, which is rolled back when the work throws. The transaction has
 * the same time limit as a single statement. When it expires, the connection is closed.
 *
 * @param limitMs the time limit of a statement
 * @param work runs all its statements on the given manager
 * @throws the error of the work, or an error for which `isUnavailable` is true
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
