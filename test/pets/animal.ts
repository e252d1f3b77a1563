// The only place of the tests that knows all properties of an animal.
import type { PetStatus } from '../../src/pets/pet.entity.js';
import type { TestDatabase } from '../harness/database/database.js';

/** A number of JSON. Beyond 2^53, it is a text or a bigint. */
type Int64 = bigint | number | string;

interface Animal {
  id: Int64;
  name: string;
  categoryId: Int64;
  status: PetStatus;
}

/** Returns a valid animal as a client sends it, with these properties instead of its own. */
export function newAnimal<Changes extends object = object>(changes?: Changes) {
  return Object.assign({ name: 'Frank', categoryId: 7 }, changes);
}

/** Returns a file with one animal. */
export function newAnimalsCsv(): string {
  const animal = newAnimal();
  return `${Object.keys(animal).join()}\n${Object.values(animal).join()}\n`;
}

/** Returns the exact text of an animal in a response: its properties and their order. */
export function animalText({ id, ...properties }: { id: Int64 } & Partial<Animal>): string {
  const { name, categoryId, status } = { status: 'available', ...newAnimal(properties) };
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

/** Adds valid animals with these properties to a database. Returns their ids in the same order. */
export async function addPets(
  database: Pick<TestDatabase, 'query'>,
  animals: readonly Partial<Animal>[],
): Promise<string[]> {
  const rows = animals.map(({ id, ...properties }) => {
    const { name, categoryId, status } = { status: 'available', ...newAnimal(properties) };
    return [id === undefined ? null : String(id), name, String(categoryId), status];
  });
  const added = await database.query<{ id: string }>(
    `INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
     SELECT coalesce((row ->> 0)::bigint, nextval('pets_id_seq')), row ->> 1, (row ->> 2)::bigint, row ->> 3
       FROM json_array_elements($1) WITH ORDINALITY AS rows (row, number) ORDER BY number RETURNING id`,
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
    name: `Pet ${index + 1}`,
    categoryId: 1,
    status: status(index),
  }));
  return addPets(database, animals);
}

/** The columns of an exported animal. */
export const EXPORTED_COLUMNS = 'name,categoryId,status';
