// @ts-check
import { generateKey } from '#dist/auth/key-format.js';
import { Keyset } from '#dist/http/paging/keyset.js';
import { PageQuery } from '#dist/http/paging/page-query.dto.js';

/**
 * @typedef {object} Scenario
 * @property {typeof SCENARIO_NAMES[number]} name
 * @property {string} title
 * @property {import('./peers.mjs').Ability} ability which peers are asked: those that have it
 * @property {'GET' | 'POST'} [method] GET by default
 * @property {string} path
 * @property {string} [key] sent as the bearer token
 * @property {string} [body]
 * @property {boolean} [conditional] asked with the ETag that the same peer gave
 * @property {number} status expected
 * @property {unknown} [expected] the JSON of the response; undefined for rejections. The id of a new animal is not compared
 */

export const SCENARIO_NAMES = /** @type {const} */ ([
  'list-20',
  'list-100',
  'last-page',
  'get',
  'not-modified',
  'no-key',
  'over-limit',
  'unknown-key',
  'no-route',
  'create',
]);

const NEW_PET = { name: 'Frank', categoryId: 1, status: 'available' };
const COLUMNS = 'id::integer, name, category_id::integer AS "categoryId", status';

/**
 * Returns the scenarios, with the responses that the database implies.
 *
 * @param {import('pg').Client} database seeded
 * @param {{ caller: string, rejected: string }} keys
 * @returns {Promise<Scenario[]>}
 */
export async function listScenarios(database, { caller, rejected }) {
  /** @param {number} limit */
  const firstPage = async (limit) =>
    (await database.query(`SELECT ${COLUMNS} FROM pets ORDER BY id LIMIT $1`, [limit])).rows;
  const lastRows = await database.query(`SELECT ${COLUMNS} FROM pets ORDER BY id DESC LIMIT 21`);
  const [beforeLastPage, ...lastPage] = lastRows.rows.reverse();
  const middle = await database.query(
    `SELECT ${COLUMNS} FROM pets WHERE id = (SELECT max(id) / 2 FROM pets)`,
  );
  const cursor = new Keyset('bigint').cursorAfter([BigInt(beforeLastPage.id)], new PageQuery());
  const ofCaller = /** @type {const} */ ({ ability: 'animals', key: caller });
  return [
    {
      ...ofCaller,
      name: 'list-20',
      title: 'list of 20',
      path: '/v1/pets',
      status: 200,
      expected: await firstPage(20),
    },
    {
      ...ofCaller,
      name: 'list-100',
      title: 'list of 100',
      path: '/v1/pets?limit=100',
      status: 200,
      expected: await firstPage(100),
    },
    {
      ...ofCaller,
      name: 'last-page',
      title: 'last page of 20',
      ability: 'pages',
      path: `/v1/pets?cursor=${cursor}`,
      status: 200,
      expected: lastPage,
    },
    {
      ...ofCaller,
      name: 'get',
      title: 'get',
      path: `/v1/pets/${middle.rows[0].id}`,
      status: 200,
      expected: middle.rows[0],
    },
    {
      ...ofCaller,
      name: 'not-modified',
      title: 'list of 20, not modified (304)',
      ability: 'etag',
      path: '/v1/pets',
      conditional: true,
      status: 304,
    },
    {
      name: 'no-key',
      title: 'no key (401)',
      ability: 'rejections',
      path: '/v1/pets',
      status: 401,
    },
    {
      name: 'over-limit',
      title: 'over the limit (429)',
      ability: 'rejections',
      path: '/v1/pets',
      key: rejected,
      status: 429,
    },
    {
      name: 'unknown-key',
      title: 'a key that is not known (401)',
      ability: 'keys',
      path: '/v1/pets',
      key: generateKey(),
      status: 401,
    },
    {
      ...ofCaller,
      name: 'no-route',
      title: 'unknown path (404)',
      path: '/v1/nothing',
      status: 404,
    },
    // Last in each round: the animals that it adds follow those that are read.
    {
      ...ofCaller,
      name: 'create',
      title: 'create',
      method: 'POST',
      path: '/v1/pets',
      body: JSON.stringify(NEW_PET),
      status: 201,
      expected: NEW_PET,
    },
  ];
}
