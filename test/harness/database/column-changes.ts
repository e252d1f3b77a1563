import type { MixedLoad } from '../http/mixed-load.js';
import type { TestDatabase } from './database.js';

const type = (table: string, column: string, name: string) =>
  `ALTER TABLE ${table} ALTER ${column} TYPE ${name} USING ${column}::text::${name}`;

/** Migrations that change columns that the service uses, and that the previous release could use. */
const COLUMN_CHANGES = [
  type('test_items', 'status', 'varchar(20)'),
  `CREATE TYPE item_status AS ENUM ('available', 'pending', 'sold'); ${type('test_items', 'status', 'item_status')}`,
  `ALTER TABLE test_items ADD COLUMN born date, ADD COLUMN weight numeric DEFAULT 1`,
  type('test_items', 'name', 'varchar(300)'),
  type('owners', 'limit_per_minute', 'bigint'),
  type('owners', 'limit_per_day', 'bigint'),
  `CREATE TYPE plan AS ENUM ('free', 'pro', 'business', 'enterprise'); ${type('owners', 'plan', 'plan')}`,
  type('owners', 'name', 'varchar(300)'),
  type('api_keys', 'unban_count', 'bigint'),
  type('api_keys', 'hint', 'varchar(100)'),
  'ALTER TABLE api_keys ADD COLUMN remark text',
  type('api_keys', 'expires_at', 'timestamptz(3)'),
  type('idempotency_keys', 'key', 'varchar(300)'),
  type('idempotency_keys', 'answer', 'varchar(100000)'),
  `ALTER TABLE idempotency_keys ADD COLUMN remark text; ${type('idempotency_keys', 'expires_at', 'timestamptz(3)')}`,
];

/** Changes columns of every kind while the service handles requests. */
export async function changeColumns(
  query: TestDatabase['query'],
  load: MixedLoad,
  afterEach: (change: string) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  for (const change of COLUMN_CHANGES) {
    await load.untilMoreResponses(12);
    await query(change);
    await afterEach(change);
  }
  await load.untilMoreResponses(24);
  await load.stop();
}
