import { Injectable } from '@nestjs/common';
import { Option } from 'commander';
import { EntityManager } from 'typeorm';
import {
  AuditTrail,
  Command,
  countUpTo,
  type ExportOptions,
  exportArguments,
  type ImportOptions,
  importArguments,
  queryRows,
  RowFiles,
  Terminal,
  type UpdateOptions,
  updateArguments,
  YES_OPTION,
} from '#platform';
import { Item, NewItem, STATUSES } from './item.entity.js';

const INSERT = `
  INSERT INTO test_items (name, category_id, status)
  SELECT 'Name ' || n % 100, n % 12, (ARRAY['available', 'pending', 'sold'])[1 + n % 3]
    FROM generate_series(1, $1::int) AS n`;

const ITEMS = { name: 'items', entity: Item, dto: NewItem };

@Injectable()
export class ItemsCommands {
  constructor(
    private readonly manager: EntityManager,
    private readonly terminal: Terminal,
    private readonly audit: AuditTrail,
    private readonly files: RowFiles,
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

  @Command('import', 'add the items of a file', importArguments(NewItem), { effect: 'added' })
  import(path: string, options: ImportOptions) {
    return this.files.import(ITEMS, path, options);
  }

  @Command('update', 'change the items of a file', updateArguments(NewItem), { effect: 'changed' })
  update(path: string, options: UpdateOptions) {
    return this.files.update(ITEMS, path, options);
  }

  @Command('export', 'print all items', (command) =>
    exportArguments(
      command.addOption(new Option('--status <status>', 'the status').choices(STATUSES)),
    ),
  )
  export({ status, ...options }: ExportOptions & { status?: Item['status'] }) {
    return this.files.export(ITEMS, options, { status });
  }
}
