// @ts-check
// Fastify with schemas for requests and responses, prepared statements, API keys cached for five
// seconds, and @fastify/rate-limit with a window per day. With DUTIES=true, it also does what the service does for each request:
// a second window, a count of requests without a valid API key, a log line, a metric, an ETag, an id, and exact 64-bit integers.
import { createHash, randomUUID } from 'node:crypto';
import etag from '@fastify/etag';
import rateLimit from '@fastify/rate-limit';
import { fastify } from 'fastify';
import { parse as parseExact } from 'lossless-json';
import pg from 'pg';
import { Histogram } from 'prom-client';
import { COLUMNS, newAnimal, PARAMETERS, SELECTED, valuesOf } from '../../examples/new-animal.mjs';

const hasDuties = process.env.DUTIES === 'true';
pg.types.setTypeParser(pg.types.builtins.INT8, hasDuties ? BigInt : Number);
const pool = new pg.Pool({ max: Number(process.env.POOL_SIZE) });

const LIST = { name: 'list', text: `SELECT ${SELECTED} FROM pets ORDER BY id LIMIT $1` };
const GET = { name: 'get', text: `SELECT ${SELECTED} FROM pets WHERE id = $1` };
const INSERT = {
  name: 'insert',
  text: `INSERT INTO pets (${COLUMNS}) VALUES (${PARAMETERS}) RETURNING ${SELECTED}`,
};
const FIND_OWNER = {
  name: 'find-owner',
  text: `SELECT o.id, o.limit_per_day AS "perDay" FROM api_keys k JOIN owners o ON o.id = k.owner_id
          WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
};

const status = { type: 'string', enum: ['available', 'pending', 'sold'] };
const text = { type: 'string', minLength: 1, maxLength: 255 };
const required = Object.entries(newAnimal());
const newPet = Object.fromEntries(
  required.map(([name, value]) => [name, typeof value === 'string' ? text : { type: 'integer' }]),
);
const pet = { type: 'object', properties: { id: { type: 'integer' }, ...newPet, status } };

/** @typedef {{ id: number, perDay: number }} Owner */
/** @type {Map<string, { owner: Owner, untilMs: number }>} */
const owners = new Map();
const CACHED_MS = 5_000;

/** @param {string} key @returns {Promise<Owner | undefined>} */
async function findOwner(key) {
  const cached = owners.get(key);
  if (cached && cached.untilMs > Date.now()) return cached.owner;
  const hash = createHash('sha256').update(key).digest();
  const { rows } = await pool.query({ ...FIND_OWNER, values: [hash] });
  if (rows[0]) owners.set(key, { owner: rows[0], untilMs: Date.now() + CACHED_MS });
  return rows[0];
}

/** @param {unknown} request @returns {Owner} */
const ownerOf = (request) => /** @type {any} */ (request).owner;

const app = fastify({
  logger: hasDuties,
  disableRequestLogging: true,
  genReqId: ({ headers }) => headers['x-request-id']?.toString() ?? randomUUID(),
});
app.decorateRequest('owner', null);
if (hasDuties) await addDuties();
/** @type {(request: import('fastify').FastifyRequest) => Promise<unknown>} */
let countForAddress = () => Promise.resolve();
app.addHook('onRequest', async (request, reply) => {
  const key = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const owner = key === undefined ? undefined : await findOwner(key);
  if (!owner) {
    await countForAddress(request);
    return reply
      .code(401)
      .send({ code: 'invalid_api_key', message: 'Send a valid API key.', status: 401 });
  }
  /** @type {any} */ (request).owner = owner;
});
await app.register(rateLimit, {
  max: (request) => ownerOf(request).perDay,
  timeWindow: '1 day',
  keyGenerator: (request) => String(ownerOf(request).id),
});
if (hasDuties) {
  const countMinute = app.createRateLimit({ max: 1_000_000_000, timeWindow: '1 minute' });
  app.addHook('onRequest', async (request, reply) => {
    const minute = await countMinute(request);
    if (minute.isAllowed || minute.isExceeded) return;
    reply.header('RateLimit', `"minute";r=${minute.remaining};t=${minute.ttlInSeconds}`);
    reply.header('RateLimit-Policy', `"minute";q=${minute.max};w=60`);
  });
  countForAddress = app.createRateLimit({
    max: 1_000_000_000,
    timeWindow: '1 minute',
    keyGenerator: ({ ip }) => ip,
  });
}

/** Adds what the service does for each request. */
async function addDuties() {
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of a request',
    labelNames: ['method', 'route', 'status'],
  });
  await app.register(etag);
  app.addHook('onRequest', async (request, reply) => {
    reply.header('X-Request-Id', request.id).header('X-Content-Type-Options', 'nosniff');
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method, ip, routeOptions } = request;
    const { statusCode: status, elapsedTime: durationMs } = reply;
    const route = routeOptions.url ?? 'unmatched';
    duration.labels(method, route, String(status)).observe(durationMs / 1000);
    const path = request.url.split('?', 1)[0];
    const ownerId = /** @type {any} */ (request).owner?.id.toString();
    const ids = { requestId: request.id, ownerId, clientAddress: ip };
    app.log.info({ ...ids, method, path, route, status, durationMs }, 'request');
  });
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    const text = body.toString();
    // JSON.parse would round long numbers.
    done(null, /\d[\d.]{15}/.test(text) ? parseExact(text) : JSON.parse(text));
  });
}

const limit = { type: 'integer', minimum: 1, maximum: 100, default: 20 };
const listSchema = {
  querystring: { type: 'object', properties: { limit } },
  response: { 200: { type: 'array', items: pet } },
};
app.get('/v1/pets', { schema: listSchema }, async (request) => {
  const query = /** @type {{ limit: number }} */ (request.query);
  return (await pool.query({ ...LIST, values: [query.limit] })).rows;
});

const createSchema = {
  body: {
    type: 'object',
    required: required.map(([name]) => name),
    properties: { ...newPet, status: { ...status, default: 'available' } },
  },
  response: { 201: pet },
};
app.post('/v1/pets', { schema: createSchema }, async (request, reply) => {
  const values = valuesOf(/** @type {any} */ (request.body));
  const { rows } = await pool.query({ ...INSERT, values });
  return reply.code(201).send(rows[0]);
});

const failure = {
  type: 'object',
  properties: {
    code: { type: 'string' },
    message: { type: 'string' },
    status: { type: 'integer' },
  },
};
const getSchema = { response: { 200: pet, 404: failure } };
app.get('/v1/pets/:petId', { schema: getSchema }, async (request, reply) => {
  const { petId } = /** @type {{ petId: string }} */ (request.params);
  const { rows } = await pool.query({ ...GET, values: [petId] });
  return (
    rows[0] ??
    reply.code(404).send({ code: 'pet_not_found', message: 'Unknown animal.', status: 404 })
  );
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
