// @ts-check
import { fileURLToPath } from 'node:url';

/**
 * What a peer can be asked:
 * - `animals`: list, get and create, and what is not there
 * - `pages`: pages beyond the first
 * - `etag`: If-None-Match
 * - `keys`: who may ask, found in the database
 * - `rejections`: 401 and 429
 *
 * @typedef {'animals' | 'pages' | 'etag' | 'keys' | 'rejections'} Ability
 *
 * @typedef {object} Peer
 * @property {string} name
 * @property {string} title
 * @property {string} program
 * @property {Ability[]} abilities
 * @property {Record<string, string>} [env]
 * @property {boolean} [redis] whether its counters are in Redis
 */

const SERVICE = fileURLToPath(new URL('../../dist/bundle/main.js', import.meta.url));

/** @param {string} file */
const peer = (file) => fileURLToPath(new URL(`../peers/${file}`, import.meta.url));

/**
 * Only the limits of the owners apply, because the load comes from one address. Rejections are
 * counted towards a ban.
 */
const SERVICE_ENV = {
  METRICS_PORT: '0',
  ANONYMOUS_REQUESTS_PER_MINUTE: '1000000000',
  BAN_AFTER_REFUSALS: '1000000000',
};

/** @type {Peer[]} */
export const PEERS = [
  {
    name: 'service',
    title: 'this service',
    program: SERVICE,
    abilities: ['animals', 'pages', 'etag', 'keys', 'rejections'],
    env: SERVICE_ENV,
  },
  {
    name: 'service-redis',
    title: 'this service, counters in Redis',
    program: SERVICE,
    abilities: ['animals', 'pages', 'etag', 'keys', 'rejections'],
    env: SERVICE_ENV,
    redis: true,
  },
  {
    name: 'constant',
    title: 'node:http, constant body',
    program: peer('constant.mjs'),
    abilities: ['rejections'],
  },
  {
    name: 'node-http',
    title: 'node:http + pg (the limit)',
    program: peer('node-http.mjs'),
    abilities: ['animals'],
  },
  {
    name: 'fastify',
    title: 'Fastify, keys and limits',
    program: peer('fastify.mjs'),
    abilities: ['animals', 'keys', 'rejections'],
  },
  {
    name: 'express-bare',
    title: 'Express bare',
    program: peer('express-bare.mjs'),
    abilities: ['animals', 'etag'],
  },
  {
    name: 'express-keys',
    title: 'Express, keys and limits',
    program: peer('express-keys.mjs'),
    abilities: ['animals', 'etag', 'keys', 'rejections'],
  },
  {
    name: 'express-redis',
    title: 'Express, keys and limits in Redis',
    program: peer('express-keys.mjs'),
    abilities: ['animals', 'etag', 'keys', 'rejections'],
    redis: true,
  },
  {
    name: 'nest-fastify',
    title: 'textbook Nest on Fastify',
    program: peer('nest.ts'),
    abilities: ['animals'],
    env: { ADAPTER: 'fastify' },
  },
  {
    name: 'nest-express',
    title: 'textbook Nest on Express',
    program: peer('nest.ts'),
    abilities: ['animals', 'etag'],
  },
];
