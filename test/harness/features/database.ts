// A feature that uses the database as a team's own code might.
import { Controller, Module, Param, ParseEnumPipe, ParseIntPipe, Post } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { queryRows } from '#platform';

const SELL = "UPDATE items SET status = 'sold' WHERE id = $1 AND status <> 'sold'";

const THEN = {
  done: () => Promise.resolve(),
  fails: () => Promise.reject(new Error('secret of the inside')),
  // Each statement is fast. Together they take longer than any limit.
  hangs: async (transaction: EntityManager) => {
    for (let time = 0; time < 1_000; time++) {
      await queryRows(transaction, 'SELECT pg_sleep(0.05)');
    }
  },
};
const NAMES = { done: 'done', fails: 'fails', hangs: 'hangs' } as const;

@Controller('database')
class DatabaseController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly manager: EntityManager,
  ) {}

  /** Returns whether the transaction sees its change. */
  @Post('sales/:id/:then')
  sell(
    @Param('id', ParseIntPipe) id: number,
    @Param('then', new ParseEnumPipe(NAMES)) then: keyof typeof THEN,
  ) {
    return this.dataSource.transaction(async (transaction) => {
      await queryRows(this.manager, SELL, [id]);
      await THEN[then](transaction);
      return (await queryRows(transaction, 'SELECT status FROM items WHERE id = $1', [id]))[0];
    });
  }
}

@Module({ controllers: [DatabaseController] })
class DatabaseFeature {}
export default [DatabaseFeature];
