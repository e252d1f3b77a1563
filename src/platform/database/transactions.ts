import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Settings } from '../config/settings.js';
import type { PgClient } from './pipelining/pg-client.js';
import { CLIENT_TIMEOUT_MARGIN_MS } from './pools/client-config.js';

/** Runs work in transactions of bounded duration. */
@Injectable()
export class Transactions {
  constructor(
    private readonly dataSource: DataSource,
    private readonly settings: Settings,
  ) {}

  /**
   * Does the work in one transaction, which is rolled back when the work throws. The whole
   * transaction has the time limit of a single statement. When it expires, the connection is closed.
   *
   * @param work runs all its statements on the given manager and passes it to other services that
   *   take part
   * @throws the error of the work, or an error for which `isUnavailable` is true: the response to
   *   the request is then 503
   */
  async run<Result>(work: (transaction: EntityManager) => Promise<Result>): Promise<Result> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const connection = (await runner.connect()) as PgClient;
      const limitMs = this.settings.database.statementTimeoutMs + CLIENT_TIMEOUT_MARGIN_MS;
      const deadline = setTimeout(() => connection.abandon(), limitMs);
      try {
        return await runner.manager.transaction(work);
      } finally {
        clearTimeout(deadline);
      }
    } finally {
      await runner.release();
    }
  }
}
