// @ts-check
// The properties of an animal, for the tests, the benchmark, the rehearsals and the examples.

/**
 * Returns a valid animal as a client sends it. A property that must be unique needs another value in each.
 *
 * @template {object} [Changes=object]
 * @param {Changes} [changes] properties instead of its own
 */
export function newAnimal(changes) {
  return Object.assign({ name: 'Frank', categoryId: 7 }, changes);
}

/** Returns properties of one of several animals. @param {number} number */
export const animalNumber = (number) => ({ name: `Pet ${number}`, categoryId: 1 });

/** A valid animal that is stored many times. NUMBER stands for 15 digits, which differ in each. */
export const NUMBERED_ANIMAL = newAnimal({ name: 'Animal NUMBER', status: 'available' });

/** The properties of an animal in the order of a response. */
export const PROPERTIES = ['id', 'name', 'categoryId', 'status'];

/** Returns the column of a property. @param {string} property */
export const columnOf = (property) => property.replace(/[A-Z]/g, '_$&').toLowerCase();

/** What a statement selects or returns. */
export const SELECTED = PROPERTIES.map((name) => `${columnOf(name)} AS "${name}"`).join(', ');

const STORED = PROPERTIES.filter((name) => name !== 'id');

/** Returns the row of an animal, by column. @param {object} animal */
export const rowOf = (animal) =>
  Object.fromEntries(
    Object.entries(animal).map(([name, value]) => [columnOf(name), String(value)]),
  );

/** The columns of an INSERT: all but the id. */
export const COLUMNS = STORED.map(columnOf).join(', ');

/** The parameters of an INSERT of one animal, in the order of the columns. */
export const PARAMETERS = STORED.map((_, index) => `$${index + 1}`).join(', ');

/** Returns the values of these parameters. @param {Record<string, unknown>} animal as a client sends it */
export const valuesOf = (animal) => STORED.map((name) => animal[name] ?? 'available');

/**
 * Adds numbered animals.
 *
 * @param {{ query(sql: string, values: unknown[]): Promise<unknown> }} database
 * @param {number} count
 */
export async function addNumberedAnimals(database, count) {
  await database.query(
    `INSERT INTO pets (${COLUMNS})
     SELECT ${COLUMNS}
       FROM generate_series(1, $1::integer) AS n,
            json_populate_record(NULL::pets, replace($2, 'NUMBER', lpad(n::text, 15, '0'))::json)`,
    [count, JSON.stringify(rowOf(NUMBERED_ANIMAL))],
  );
}
