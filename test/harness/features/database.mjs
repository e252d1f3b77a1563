// @ts-check
// A feature that uses the database as a team's own code might.
import { Controller, Get, Inject, Param, ParseEnumPipe, ParseIntPipe, Post } from '@nestjs/common';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { queryRows } from '#dist/platform/database/sql.js';
import { Transactions } from '#dist/platform/database/transactions.js';
import { Pet } from '#dist/pets/pet.entity.js';
import { decorate, feature } from './decorate.mjs';

const PLAN_SETTINGS = `
  SELECT current_setting('plan_cache_mode') AS "planCacheMode",
         current_setting('enable_seqscan') AS "enableSeqscan"`;

const SELL = "UPDATE pets SET status = 'sold' WHERE id = $1 AND status <> 'sold'";

class SalesService {
  /**
   * @param {number} id
   * @param {import('typeorm').EntityManager} transaction
   */
  async sell(id, transaction) {
    await queryRows(transaction, SELL, [id]);
  }
}

const ENDS = { done: 'done', fails: 'fails', hangs: 'hangs' };

/** @type {Record<string, (transaction: import('typeorm').EntityManager) => Promise<unknown>>} */
const THEN = {
  done: () => Promise.resolve(),
  fails: () => Promise.reject(new Error('secret of the inside')),
  // Each statement is fast. Together they take longer than any limit.
  hangs: async (transaction) => {
    for (let time = 0; time < 1_000; time++) {
      await queryRows(transaction, 'SELECT pg_sleep(0.05)');
    }
  },
};

class DatabaseController {
  /**
   * @param {import('typeorm').Repository<Pet>} pets
   * @param {Transactions} transactions
   * @param {SalesService} sales
   */
  constructor(pets, transactions, sales) {
    this.pets = pets;
    this.transactions = transactions;
    this.sales = sales;
  }

  /**
   * Sells an animal by another service, which takes part in the transaction. Returns whether the
   * transaction sees the change.
   *
   * @param {number} id
   * @param {string} then
   */
  sell(id, then) {
    return this.transactions.run(async (transaction) => {
      await this.sales.sell(id, transaction);
      await THEN[then]?.(transaction);
      return (await queryRows(transaction, 'SELECT status FROM pets WHERE id = $1', [id]))[0];
    });
  }

  /** Returns the settings that a query of a repository and one of a transaction have. */
  async planSettings() {
    const { manager } = this.pets;
    return {
      repository: await this.pets.query(PLAN_SETTINGS),
      transaction: await manager.transaction((transaction) => transaction.query(PLAN_SETTINGS)),
    };
  }
}
Inject(getRepositoryToken(Pet))(DatabaseController, undefined, 0);
Inject(Transactions)(DatabaseController, undefined, 1);
Inject(SalesService)(DatabaseController, undefined, 2);
Controller({ path: 'database', version: '1' })(DatabaseController);
decorate(DatabaseController, 'planSettings', Get('plan-settings'));
decorate(DatabaseController, 'sell', Post('sales/:id/:then'));
Param('id', ParseIntPipe)(DatabaseController.prototype, 'sell', 0);
Param('then', new ParseEnumPipe(ENDS))(DatabaseController.prototype, 'sell', 1);

export default [
  feature({
    imports: [TypeOrmModule.forFeature([Pet])],
    controllers: [DatabaseController],
    providers: [SalesService],
  }),
];
