import { DataSource, type EntityManager } from 'typeorm';
import { changeRows, queryRows } from '../../src/platform/database/sql.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';

let database: TestDatabase;
let dataSource: DataSource;

const UPSERT = 'INSERT INTO notes VALUES (2, $1), (3, $1) ON CONFLICT (id)';

beforeAll(async () => {
  database = await createDatabase();
  dataSource = new DataSource({ type: 'postgres', url: database.url });
  await dataSource.initialize();
  await database.query('CREATE TABLE notes (id int PRIMARY KEY, text text)');
});
afterAll(async () => {
  await dataSource.destroy();
  await database.close();
});
beforeEach(async () => {
  await database.query(`TRUNCATE notes; INSERT INTO notes VALUES (1, 'one'), (2, 'two')`);
});

describe('queryRows', () => {
  it.each([
    ['SELECT', 'SELECT id FROM notes WHERE id = $1', [{ id: 1 }]],
    ['SELECT without rows', 'SELECT id FROM notes WHERE id = $1 AND false', []],
    ['INSERT … RETURNING', 'INSERT INTO notes VALUES ($1 + 2) RETURNING id', [{ id: 3 }]],
    ['UPDATE … RETURNING', 'UPDATE notes SET id = 9 WHERE id = $1 RETURNING id', [{ id: 9 }]],
    ['DELETE … RETURNING', 'DELETE FROM notes WHERE id = $1 RETURNING text', [{ text: 'one' }]],
    ['UPDATE without rows', 'UPDATE notes SET id = 9 WHERE id = $1 + 5 RETURNING id', []],
    ['UPDATE without RETURNING', 'UPDATE notes SET id = 9 WHERE id = $1', []],
  ])('returns the rows of %s', async (_what, sql, expected) => {
    expect(await queryRows(dataSource.manager, sql, [1])).toEqual(expected);
    await dataSource.transaction(async (transaction) => {
      expect(await queryRows(transaction, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
  });
});

describe('changeRows', () => {
  it.each([
    ['UPDATE', 'UPDATE notes SET text = $1', 2],
    ['UPDATE … RETURNING', 'UPDATE notes SET text = $1 RETURNING id', 2],
    ['DELETE', 'DELETE FROM notes WHERE text <> $1', 2],
    ['UPDATE of no row', 'UPDATE notes SET id = 1 WHERE text = $1', 0],
    ['INSERT', 'INSERT INTO notes VALUES (3, $1), (4, $1)', 2],
    ['INSERT of no row', 'INSERT INTO notes SELECT 3, $1 WHERE false', 0],
    ['INSERT … ON CONFLICT DO UPDATE', `${UPSERT} DO UPDATE SET text = excluded.text`, 2],
    ['INSERT … ON CONFLICT DO NOTHING', `${UPSERT} DO NOTHING`, 1],
    [
      'MERGE',
      `MERGE INTO notes USING (VALUES (2), (3)) AS new (id) ON notes.id = new.id
       WHEN MATCHED THEN UPDATE SET text = $1 WHEN NOT MATCHED THEN INSERT VALUES (new.id, $1)`,
      2,
    ],
  ])('returns how many rows %s changed', async (_what, sql, expected) => {
    expect(await changeRows(dataSource.manager, sql, ['new'])).toBe(expected);
  });

  it('changes nothing if its transaction is rolled back, and returns its connection', async () => {
    const insert = (manager: EntityManager) =>
      changeRows(manager, 'INSERT INTO notes SELECT max(id) + 1 FROM notes');
    const rolledBack = dataSource.transaction(async (transaction) => {
      expect(await insert(transaction)).toBe(1);
      throw new Error('undone');
    });
    await expect(rolledBack).rejects.toThrow('undone');
    expect(await database.query('SELECT id FROM notes')).toHaveLength(2);
    // More often than the pool has connections.
    for (let count = 0; count < 20; count++) await insert(dataSource.manager);
  });
});
