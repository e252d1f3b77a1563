// @ts-check
import { columnOf, NUMBERED_ANIMAL, PROPERTIES } from '../../examples/new-animal.mjs';

/** @type {typeof import('../../src/platform/http/paging/page-cursor.js')} */
const { PageCursor, PageQuery } = await import(
  new URL('../../dist/platform/http/paging/page-cursor.js', import.meta.url).href
);

/**
 * @typedef {object} Scenario
 * @property {typeof SCENARIO_NAMES[number]} name
 * @property {import('./peers.mjs').Feature} feature only peers that support it are measured
 * @property {string} path
 * @property {string} [key] sent as the bearer token
 * @property {string} [body] sent with POST; NUMBER stands for 15 digits, which are others in each request
 * @property {number} status expected
 * @property {unknown} [expected] the JSON of the response; undefined: not checked, except that a new animal has what was sent
 */

export const SCENARIO_NAMES = /** @type {const} */ ([
  'list-20',
  'last-page',
  'get',
  'no-key',
  'over-limit',
  'create',
]);

const SELECT = `SELECT ${PROPERTIES.map((name) => `to_json(${columnOf(name)}) AS "${name}"`).join(', ')} FROM pets`;

/**
 * Returns the scenarios. Reads the expected responses from the database.
 *
 * @param {import('../processes/environment.mjs').Store} store
 * @returns {Promise<Scenario[]>}
 */
export async function listScenarios({ database, keys: { caller: key, rejected } }) {
  const firstPage = await database.query(`${SELECT} ORDER BY pets.id LIMIT 20`);
  const lastRows = await database.query(`${SELECT} ORDER BY pets.id DESC LIMIT 21`);
  const [beforeLastPage, ...lastPage] = lastRows.rows.reverse();
  const middle = await database.query(`${SELECT} WHERE id = (SELECT max(id) / 2 FROM pets)`);
  const [pet] = middle.rows;
  const cursor = new PageCursor('bigint').cursorAfter([BigInt(beforeLastPage.id)], new PageQuery());
  const list = { path: '/v1/pets', key, status: 200, expected: firstPage.rows };
  return [
    { ...list, name: 'list-20', feature: 'animals' },
    {
      ...list,
      name: 'last-page',
      feature: 'pages',
      path: `/v1/pets?cursor=${cursor}`,
      expected: lastPage,
    },
    { ...list, name: 'get', feature: 'animals', path: `/v1/pets/${pet.id}`, expected: pet },
    { name: 'no-key', feature: 'rejections', path: '/v1/pets', status: 401 },
    { name: 'over-limit', feature: 'rejections', path: '/v1/pets', key: rejected, status: 429 },
    // Last in each round. It adds animals after those that the other scenarios read.
    {
      name: 'create',
      feature: 'animals',
      path: '/v1/pets',
      key,
      body: JSON.stringify(NUMBERED_ANIMAL),
      status: 201,
    },
  ];
}
