// Lets all code that runs in a transaction join it: injected repositories and managers, query
// builders, statements of PipelinedStatements, and other transactions. It saves every service the
// manager of the transaction as a parameter, and the statements of a request a wrapper that reads
// it at each call. It relies on the documented `createEntityManager` and on the getter
// `queryRunner` of EntityManager, which TypeORM reads for each statement. If a release of TypeORM
// reads it earlier, test/platform/database/transactions.test.ts fails; pass the manager of the transaction
// as TypeORM documents it instead.
import { ClsServiceManager } from 'nestjs-cls';
import {
  DataSource,
  EntityManager,
  type EntityTarget,
  type ObjectLiteral,
  type QueryRunner,
} from 'typeorm';
import type { Pool } from 'pg';
import type { PgClient, PgClientConfig } from './pg-client.js';
import { PipelinedRepository, type PipeliningDataSource } from './pipelined-repository.js';
import { OPEN_TRANSACTION, openTransaction, PipelinedStatements } from './pipelined-statements.js';

/** TypeORM's DataSource, whose transactions are joined by all code that runs in them. */
export class StoreDataSource extends DataSource implements PipeliningDataSource {
  private pipelined?: PipelinedStatements;

  /** The statements on the connections of this DataSource, which must be open. */
  get statements(): PipelinedStatements {
    const { master } = this.driver as unknown as { master: Pool };
    return (this.pipelined ??= new PipelinedStatements(master));
  }

  override createEntityManager(runner?: QueryRunner): EntityManager {
    return runner ? new StoreManager(this, runner) : new JoiningManager(this);
  }

  override getRepository<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
  ): PipelinedRepository<Entity> {
    return super.getRepository(target) as PipelinedRepository<Entity>;
  }

  override query<Result>(sql: string, values?: unknown[], runner = openTransaction()) {
    return super.query<Result>(sql, values, runner);
  }
}

type Work<Result> = (manager: EntityManager) => Promise<Result>;

type IsolationLevel = Parameters<QueryRunner['startTransaction']>[0];

class StoreManager extends EntityManager {
  override getRepository<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
  ): PipelinedRepository<Entity> {
    let repository = this.repositories.get(target) as PipelinedRepository<Entity> | undefined;
    if (!repository) {
      repository = new PipelinedRepository(target, this, this.queryRunner);
      this.repositories.set(target, repository);
    }
    return repository;
  }
}

/** The manager and the repositories that modules inject. */
class JoiningManager extends StoreManager {
  constructor(dataSource: DataSource) {
    super(dataSource);
    Object.defineProperty(this, 'queryRunner', { get: openTransaction });
  }

  override transaction<Result>(
    isolation: IsolationLevel | Work<Result>,
    isolatedWork?: Work<Result>,
  ): Promise<Result> {
    const work = typeof isolation === 'function' ? isolation : (isolatedWork as Work<Result>);
    const isNested = openTransaction() !== undefined;
    const run: Work<Result> = (manager) => (isNested ? work(manager) : this.runOpen(manager, work));
    return typeof isolation === 'string'
      ? super.transaction(isolation, run)
      : super.transaction(run);
  }

  /** TypeORM would keep the first one for later calls, with the connection of this transaction. */
  override getRepository<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
  ): PipelinedRepository<Entity> {
    const open = openTransaction()?.manager as StoreManager | undefined;
    return open?.getRepository(target) ?? super.getRepository(target);
  }

  private async runOpen<Result>(manager: EntityManager, work: Work<Result>): Promise<Result> {
    const runner = manager.queryRunner as QueryRunner;
    const connection = (await runner.connect()) as PgClient;
    // The time limit of a transaction is that of one statement. Then its connection is closed.
    const { responseTimeoutMs } = this.dataSource.options.extra as PgClientConfig;
    const limit = setTimeout(() => connection.abandon(), responseTimeoutMs);
    const cls = ClsServiceManager.getClsService();
    try {
      const context = { ...cls.get<object | undefined>(), [OPEN_TRANSACTION]: runner };
      return await cls.runWith(context, () => work(manager));
    } finally {
      clearTimeout(limit);
    }
  }
}
