// @ts-check
// Express and pg with handwritten statements. With API_KEYS, also a lookup of the API key for each
// request, and express-rate-limit with a window per minute and per day. The counters are in the
// process, or in Redis with REDIS_URL.
import { createHash } from 'node:crypto';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { Redis } from 'ioredis';
import pg from 'pg';
import { RedisStore } from 'rate-limit-redis';

pg.types.setTypeParser(pg.types.builtins.INT8, Number);
const pool = new pg.Pool({ max: Number(process.env.POOL_SIZE) });

const COLUMNS = 'id, name, category_id AS "categoryId", status';
const STATUSES = ['available', 'pending', 'sold'];
const FIND_OWNER = `
  SELECT o.id, o.limit_per_minute AS "perMinute", o.limit_per_day AS "perDay"
    FROM api_keys k JOIN owners o ON o.id = k.owner_id
   WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`;

const app = express();
app.disable('x-powered-by');
if (process.env.API_KEYS) {
  app.use(authenticate, limiter('perMinute', 60_000), limiter('perDay', 86_400_000));
}
app.use(express.json());

app.get('/v1/pets', async (request, response) => {
  const limit = Number(request.query.limit ?? 20);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    fail(response, 400, 'invalid_request', 'limit must be an integer from 1 to 100.');
    return;
  }
  const { rows } = await pool.query(`SELECT ${COLUMNS} FROM pets ORDER BY id LIMIT $1`, [limit]);
  response.json(rows);
});

app.post('/v1/pets', async (request, response) => {
  const { name, categoryId, status = 'available' } = request.body ?? {};
  if (typeof name !== 'string' || name === '' || !Number.isInteger(categoryId)) {
    fail(response, 400, 'invalid_request', 'name and categoryId are required.');
    return;
  }
  if (!STATUSES.includes(status)) {
    fail(response, 400, 'invalid_request', `status must be one of ${STATUSES.join(', ')}.`);
    return;
  }
  const { rows } = await pool.query(
    `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`,
    [name, categoryId, status],
  );
  response.status(201).json(rows[0]);
});

app.get('/v1/pets/:petId', async (request, response) => {
  const { petId } = request.params;
  const { rows } = await pool.query(`SELECT ${COLUMNS} FROM pets WHERE id = $1`, [petId]);
  if (rows[0]) response.json(rows[0]);
  else fail(response, 404, 'pet_not_found', 'Unknown animal.');
});

app.listen(Number(process.env.PORT), '127.0.0.1');

/** @param {express.Request} request @param {express.Response} response @param {express.NextFunction} next */
async function authenticate(request, response, next) {
  const key = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const hash = key === undefined ? undefined : createHash('sha256').update(key).digest();
  const { rows } = hash ? await pool.query(FIND_OWNER, [hash]) : { rows: [] };
  response.locals.owner = rows[0];
  if (rows[0]) next();
  else fail(response, 401, 'invalid_api_key', 'Send a valid API key.');
}

/** @param {'perMinute' | 'perDay'} limit @param {number} windowMs */
function limiter(limit, windowMs) {
  const redis = process.env.REDIS_URL ? new Redis(process.env.REDIS_URL) : undefined;
  /** @type {import('rate-limit-redis').SendCommandFn} */
  const sendCommand = (command, ...args) => /** @type {any} */ (redis?.call(command, ...args));
  return rateLimit({
    windowMs,
    limit: (_request, response) => response.locals.owner[limit],
    keyGenerator: (_request, response) => String(response.locals.owner.id),
    message: { code: 'rate_limit_exceeded', message: 'Too many requests.', status: 429 },
    ...(redis && { store: new RedisStore({ prefix: `express:${limit}:`, sendCommand }) }),
  });
}

/** @param {express.Response} response @param {number} status @param {string} code @param {string} message */
function fail(response, status, code, message) {
  response.status(status).json({ code, message, status });
}
