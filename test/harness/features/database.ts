// A feature that uses the database as a team's own code might.
import { BadGatewayException, ConflictException, Controller, Get, Module } from '@nestjs/common';
import { NotFoundException, Param, ParseEnumPipe, ParseIntPipe, Post } from '@nestjs/common';
import { DataSource, EntityManager, EntityNotFoundError } from 'typeorm';
import { queryRows } from '#platform';

const SELL = "UPDATE test_items SET status = 'sold' WHERE id = $1 AND status <> 'sold'";

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
const CAUSE = { cause: new Error('the inside') };
const throwing = (error: Error) => () => Promise.reject(error);
/** Defects and rejections. Clients of the service learn nothing about the cause. */
const FAILURES: Record<string, (manager: EntityManager) => Promise<unknown>> = {
  type: (manager) => queryRows(manager, `SELECT 'Frank'::int`),
  date: (manager) => queryRows(manager, `SELECT '2026-02-30'::date`),
  range: (manager) => queryRows(manager, `SELECT $1::text::int`, ['99999999999']),
  referring: (manager) =>
    queryRows(
      manager,
      `INSERT INTO api_keys (owner_id, hash, hint) VALUES (0, sha256('Frank'), 'a…b')`,
    ),
  referred: (manager) =>
    queryRows(manager, 'DELETE FROM owners WHERE id IN (SELECT owner_id FROM api_keys)'),
  missing: throwing(new EntityNotFoundError('Toy', { name: 'Frank' })),
  conflict: throwing(new ConflictException('Taken.', CAUSE)),
  plain: throwing(new NotFoundException('No such toy.')),
  gateway: throwing(new BadGatewayException('Frank', CAUSE)),
};

const NAMES = { done: 'done', fails: 'fails', hangs: 'hangs' } as const;

@Controller('database')
class DatabaseController {
  constructor(
    private readonly dataSource: DataSource,
    private readonly manager: EntityManager,
  ) {}

  @Get('failures/:name')
  fail(@Param('name') name: string) {
    return FAILURES[name]?.(this.manager);
  }

  @Get('items')
  list() {
    return queryRows(
      this.manager,
      'SELECT * FROM test_items WHERE id > $1 ORDER BY id LIMIT 5',
      [0],
    );
  }

  /** Returns whether the transaction sees its change. */
  @Post('sales/:id/:then')
  sell(
    @Param('id', ParseIntPipe) id: number,
    @Param('then', new ParseEnumPipe(NAMES)) then: keyof typeof THEN,
  ) {
    return this.dataSource.transaction(async (transaction) => {
      await queryRows(this.manager, SELL, [id]);
      await THEN[then](transaction);
      return (await queryRows(transaction, 'SELECT status FROM test_items WHERE id = $1', [id]))[0];
    });
  }
}

@Module({ controllers: [DatabaseController] })
class DatabaseFeature {}
export default [DatabaseFeature];
