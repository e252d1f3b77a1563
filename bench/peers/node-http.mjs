// @ts-check
// node:http and pg with prepared statements. No API keys and no rate limits, but constant bodies for a
// missing key and for one key. Its cost is the lower limit for a server on Node.js and pg.
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import pg from 'pg';
import { COLUMNS, PARAMETERS, SELECTED, valuesOf } from '../../examples/new-animal.mjs';

pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const pool = new pg.Pool({ max: Number(process.env.POOL_SIZE) });

const LIST = { name: 'list', text: `SELECT ${SELECTED} FROM pets ORDER BY id LIMIT $1` };
const GET = { name: 'get', text: `SELECT ${SELECTED} FROM pets WHERE id = $1` };
const INSERT = {
  name: 'insert',
  text: `INSERT INTO pets (${COLUMNS}) VALUES (${PARAMETERS}) RETURNING ${SELECTED}`,
};

const REJECTED = `Bearer ${process.env.REJECTED_KEY}`;
const NO_KEY = { code: 'missing_api_key', message: 'Send an API key.', status: 401 };
const OVER_LIMIT = { code: 'rate_limit_exceeded', message: 'Too many requests.', status: 429 };

/**
 * @param {import('node:http').ServerResponse} response
 * @param {number} status
 * @param {unknown} value
 */
function send(response, status, value) {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
async function respond(request, response) {
  const { authorization } = request.headers;
  if (authorization === undefined) return send(response, 401, NO_KEY);
  if (authorization === REJECTED) return send(response, 429, OVER_LIMIT);
  const [path = '', query] = (request.url ?? '').split('?');
  if (path === '/v1/pets' && request.method === 'GET') {
    const limit = Number(new URLSearchParams(query).get('limit') ?? 20);
    const { rows } = await pool.query({ ...LIST, values: [limit] });
    send(response, 200, rows);
  } else if (path === '/v1/pets' && request.method === 'POST') {
    const values = valuesOf(/** @type {any} */ (await json(request)));
    const { rows } = await pool.query({ ...INSERT, values });
    send(response, 201, rows[0]);
  } else if (path.startsWith('/v1/pets/') && request.method === 'GET') {
    const { rows } = await pool.query({ ...GET, values: [path.slice('/v1/pets/'.length)] });
    if (rows[0]) send(response, 200, rows[0]);
    else send(response, 404, { code: 'pet_not_found', message: 'Unknown animal.', status: 404 });
  }
}

createServer((request, response) => {
  respond(request, response).catch(() => {
    send(response, 500, { code: 'internal_error', message: 'Internal error.', status: 500 });
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
