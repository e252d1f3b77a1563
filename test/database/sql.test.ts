import { DataSource } from 'typeorm';
import { queryRows } from '../../src/platform/database/sql.js';
import { closeBeforeDatabases, useDatabase } from '../harness/database/database.js';

const database = useDatabase();
let dataSource: DataSource;

beforeAll(async () => {
  dataSource = new DataSource({ type: 'postgres', url: database.url });
  await dataSource.initialize();
  closeBeforeDatabases(() => dataSource.destroy());
  await database.query('CREATE TABLE notes (id int PRIMARY KEY, text text)');
});
beforeEach(async () => {
  await database.query(`TRUNCATE notes; INSERT INTO notes VALUES (1, 'one'), (2, 'two')`);
});

describe('queryRows', () => {
  it('returns the rows of an UPDATE alone, unlike query() of TypeORM', async () => {
    const sql = 'UPDATE notes SET id = 9 WHERE id = 1 RETURNING id';
    // eslint-disable-next-line database/typed-sql -- unused, and so an error, if the rule misses it
    expect(await dataSource.manager.query(sql)).toEqual([[{ id: 9 }], 1]);
  });

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
