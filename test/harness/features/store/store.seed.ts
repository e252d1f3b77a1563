import { queryRows, type Seed } from '#platform';

const INSERT = `
  INSERT INTO items (name, category_id, status)
  SELECT 'Name ' || n % 100, n % 12, (ARRAY['available', 'pending', 'sold'])[1 + n % 3]
    FROM generate_series(1, $1::int) AS n`;

export const SEED: Seed = {
  rows: 'items',
  description: 'add items of varied names, categories and statuses',
  async add(database, count) {
    await queryRows(database, INSERT, [count]);
    await queryRows(database, 'ANALYZE items');
  },
};
