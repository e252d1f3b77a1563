import type { TestDatabase } from './database.js';
import {
  animalNumber,
  COLUMNS,
  newAnimal,
  PROPERTIES,
  rowOf,
} from '../../../examples/new-animal.mjs';

// Everything that the tests know of the properties of an animal is in examples/new-animal.mjs.

export { newAnimal };

type PetStatus = 'available' | 'pending' | 'sold';

type Animal = Omit<ReturnType<typeof newAnimal>, 'categoryId'> & {
  /** A text can be beyond 2^53. */
  id: number | string;
  categoryId: number | bigint;
  status: PetStatus;
};

/** Returns a file with one animal. */
export function newAnimalsCsv(): string {
  const animal = newAnimal();
  return `${Object.keys(animal).join()}\n${Object.values(animal).join()}\n`;
}

/** Returns the exact text of an animal in a response: its properties and their order. */
export function animalText({ id, ...properties }: Pick<Animal, 'id'> & Partial<Animal>): string {
  const animal = { status: 'available', ...newAnimal(properties) };
  const texts = Object.entries<unknown>(animal).map(([name, value]) => [
    name,
    typeof value === 'string' ? JSON.stringify(value) : String(value),
  ]);
  const textOf = Object.fromEntries([['id', id], ...texts]) as Record<string, string>;
  return `{${PROPERTIES.map((name) => `"${name}":${textOf[name]}`).join()}}`;
}

/** Adds valid animals with these properties to a database. Returns their ids in the same order. */
export async function addPets(
  database: Pick<TestDatabase, 'query'>,
  animals: readonly Partial<Animal>[],
): Promise<string[]> {
  const rows = animals.map((properties) =>
    rowOf({ status: 'available', ...newAnimal(properties) }),
  );
  const added = await database.query<{ id: string }>(
    `INSERT INTO pets (id, ${COLUMNS}) OVERRIDING SYSTEM VALUE
     SELECT coalesce(id, nextval('pets_id_seq')), ${COLUMNS}
       FROM json_populate_recordset(NULL::pets, $1) WITH ORDINALITY ORDER BY ordinality RETURNING id`,
    [JSON.stringify(rows)],
  );
  return added.map(({ id }) => id);
}

/** Adds animals with the names "Pet 1", "Pet 2" and so on. Returns their ids in ascending order. */
export function createPets(
  database: Pick<TestDatabase, 'query'>,
  count: number,
  status: (index: number) => PetStatus = () => 'available',
): Promise<string[]> {
  const animals = Array.from({ length: count }, (_, index) => ({
    ...animalNumber(index + 1),
    status: status(index),
  }));
  return addPets(database, animals);
}

/** The columns of an exported animal. */
export const EXPORTED_COLUMNS = PROPERTIES.filter((name) => name !== 'id').join();
