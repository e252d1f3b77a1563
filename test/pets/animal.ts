import type { PetStatus } from '../../src/pets/pet.entity.js';
import type { TestDatabase } from '../harness/database/database.js';

interface Animal {
  id: number | string;
  name: string;
  categoryId: bigint | number | string;
  status: PetStatus;
}

/** The exact text of an animal in a response: its properties and their order. */
export function animalText({ id, name, categoryId, status }: Animal): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

/** Adds animals to a database. Returns their ids in ascending order. */
export async function createPets(
  database: TestDatabase,
  count: number,
  status: (index: number) => PetStatus = () => 'available',
): Promise<string[]> {
  const statuses = Array.from({ length: count }, (_, index) => status(index));
  const rows = await database.query<{ id: string }>(
    `INSERT INTO pets (name, category_id, status)
     SELECT 'Pet ' || number, 1, status FROM unnest($1::text[]) WITH ORDINALITY AS row (status, number)
      ORDER BY number RETURNING id`,
    [statuses],
  );
  return rows.map(({ id }) => id);
}

/** The columns of an exported animal. */
export const EXPORTED_COLUMNS = 'name,categoryId,status';
