import { DataSource } from 'typeorm';
import { CreatePets1795132800001 } from '../../src/pets/migrations/1795132800001-create-pets.js';
import { createDatabase, SCHEMA, useDatabase } from '../harness/database/database.js';

const pet = (values: string) => `INSERT INTO pets (name, category_id, status) VALUES (${values})`;

describe('a row that breaks a rule', () => {
  const database = useDatabase(SCHEMA);

  it.each([
    ['pets_status_check', pet(`'Frank', 1, 'lost'`)],
    ['pets_status_check', pet(`'Frank', 1, 'Available'`)],
    ['pets_name_check', pet(`'', 1, 'sold'`)],
    ['pets_name_check', pet(`repeat('🐈', 256), 1, 'sold'`)],
  ])('is rejected by %s: %s', async (constraint, sql) => {
    await expect(database.query(sql)).rejects.toMatchObject({ constraint });
  });

  it.each(['name', 'category_id', 'status'])('is rejected without %s', async (column) => {
    const values = { name: `'Frank'`, category_id: '1', status: `'sold'`, [column]: 'NULL' };
    const sql = pet(Object.values(values).join());
    await expect(database.query(sql)).rejects.toMatchObject({ code: '23502', column });
  });

  it('is not one with the longest name and the smallest category', async () => {
    const sql = pet(`repeat('🐈', 255), -9223372036854775808, 'pending'`);
    await expect(database.query(sql)).resolves.toEqual([]);
  });
});

test('the migration of the animals keeps those of the first release', async () => {
  const database = await createDatabase({ template: 'template0' });
  const source = new DataSource({ type: 'postgres', url: database.url });
  await source.initialize();
  // The first release created the table in its first migration.
  const create = () => new CreatePets1795132800001().up(source.createQueryRunner());
  await create();
  await database.query(pet(`'Frank', 9223372036854775807, 'available'`));
  await create();
  expect(await database.query('SELECT name FROM pets')).toEqual([{ name: 'Frank' }]);
  await source.destroy();
  await database.close();
});
