import { Injectable } from '@nestjs/common';
import { EntityManager } from 'typeorm';
import { AuditTrail, Command, countUpTo, queryRows, Terminal, YES_OPTION } from '#platform';

const INSERT = `
  INSERT INTO test_items (name, category_id, status)
  SELECT 'Name ' || n % 100, n % 12, (ARRAY['available', 'pending', 'sold'])[1 + n % 3]
    FROM generate_series(1, $1::int) AS n`;

@Injectable()
export class SeedItems {
  constructor(
    private readonly manager: EntityManager,
    private readonly terminal: Terminal,
    private readonly audit: AuditTrail,
  ) {}

  @Command(
    'seed',
    'add items',
    (command) =>
      command
        .requiredOption('--items <n>', 'add items', countUpTo(100_000_000))
        .option(...YES_OPTION),
    { createsDatabase: true },
  )
  async seed({ items, ...options }: { items: number; yes?: true }) {
    const { description } = this.terminal.database;
    await this.terminal.confirm(`This adds ${items} items to ${description}.`, options);
    await this.audit.record('items seed', { requested: { items } });
    await queryRows(this.manager, INSERT, [items]);
    await queryRows(this.manager, 'ANALYZE test_items');
    return { items };
  }

  @Command('index', 'show the index of the items')
  index() {
    return Promise.resolve({ id: 1n, key: 'test_items_pkey' });
  }
}
