// @ts-check
import { randomBytes } from 'node:crypto';
import { KeyMaker } from '#dist/platform/access/key-format.js';
import { PageCursor } from '#dist/platform/http/paging/page-cursor.js';
import { PageQuery } from '#dist/platform/http/paging/page-query.dto.js';

/**
 * @typedef {object} Scenario
 * @property {typeof SCENARIO_NAMES[number]} name
 * @property {string} title
 * @property {import('./peers.mjs').Feature} feature only peers that support it are measured
 * @property {'GET' | 'POST'} [method] GET by default
 * @property {string} path
 * @property {string} [key] sent as the bearer token
 * @property {string} [body]
 * @property {boolean} [conditional] sent with If-None-Match and the ETag of the same peer
 * @property {number} status expected
 * @property {unknown} [expected] the JSON of the response, without the id of a new animal; undefined: not checked
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
 * Returns the scenarios. Reads the expected responses from the database.
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
  const cursor = new PageCursor('bigint').cursorAfter([BigInt(beforeLastPage.id)], new PageQuery());
  const byCaller = /** @type {const} */ ({ feature: 'animals', key: caller });
  return [
    {
      ...byCaller,
      name: 'list-20',
      title: 'list of 20',
      path: '/v1/pets',
      status: 200,
      expected: await firstPage(20),
    },
    {
      ...byCaller,
      name: 'list-100',
      title: 'list of 100',
      path: '/v1/pets?limit=100',
      status: 200,
      expected: await firstPage(100),
    },
    {
      ...byCaller,
      name: 'last-page',
      title: 'last page of 20',
      feature: 'pages',
      path: `/v1/pets?cursor=${cursor}`,
      status: 200,
      expected: lastPage,
    },
    {
      ...byCaller,
      name: 'get',
      title: 'get',
      path: `/v1/pets/${middle.rows[0].id}`,
      status: 200,
      expected: middle.rows[0],
    },
    {
      ...byCaller,
      name: 'not-modified',
      title: 'list of 20, not modified (304)',
      feature: 'etag',
      path: '/v1/pets',
      conditional: true,
      status: 304,
    },
    {
      name: 'no-key',
      title: 'no API key (401)',
      feature: 'rejections',
      path: '/v1/pets',
      status: 401,
    },
    {
      name: 'over-limit',
      title: 'over the limit (429)',
      feature: 'rejections',
      path: '/v1/pets',
      key: rejected,
      status: 429,
    },
    {
      name: 'unknown-key',
      title: 'unknown API key (401)',
      feature: 'keys',
      path: '/v1/pets',
      // Of another store.
      key: new KeyMaker(randomBytes(32)).create(),
      status: 401,
    },
    {
      ...byCaller,
      name: 'no-route',
      title: 'unknown path (404)',
      path: '/v1/nothing',
      status: 404,
    },
    // Last in each round. It adds animals after those that the other scenarios read.
    {
      ...byCaller,
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
