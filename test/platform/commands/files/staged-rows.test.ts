import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { StoreDataSource } from '../../../../src/platform/database/pipelining/store-data-source.js';
import { StagedRows } from '../../../../src/platform/commands/files/staged-rows.js';
import { closeBeforeDatabases, useDatabase } from '../../../harness/database/database.js';

@Entity('test_notes')
class Note {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column('text')
  text!: string;
}

const database = useDatabase();

test('staged rows are added in their order, wherever the temporary table has them', async () => {
  await database.query(
    'CREATE TABLE test_notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL)',
  );
  const store = new StoreDataSource({
    type: 'postgres',
    url: database.url,
    entities: [Note],
    extra: { responseTimeoutMs: 10_000 },
  });
  await store.initialize();
  closeBeforeDatabases(() => store.destroy());
  await store.transaction(async (manager) => {
    const staged = new StagedRows(manager, store.getMetadata(Note), ['text']);
    await staged.create();
    const row = (line: number, text: string) => ({ line, values: { text }, empty: [] });
    await staged.add([row(2, 'a'), row(3, 'b')]);
    await staged.add([row(5, 'c')]);
    // A changed row is stored behind the others.
    await manager.query(`UPDATE "#staged" SET text = 'A' WHERE text = 'a'`);
    await staged.insert();
  });
  const rows = await database.query('SELECT text FROM test_notes ORDER BY id');
  expect(rows).toEqual([{ text: 'A' }, { text: 'b' }, { text: 'c' }]);
});
