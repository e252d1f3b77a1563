// @ts-check
import { fileURLToPath } from 'node:url';

/**
 * A feature that a peer supports:
 * - `animals`: list, get and create, and 404
 * - `pages`: cursors
 * - `etag`: `If-None-Match`
 * - `keys`: API keys that are stored in the database
 * - `rejections`: 401 and 429
 *
 * @typedef {'animals' | 'pages' | 'etag' | 'keys' | 'rejections'} Feature
 *
 * A server to measure: this service, or a program in bench/peers.
 *
 * @typedef {object} Peer
 * @property {string} name
 * @property {string} title
 * @property {string} program
 * @property {Feature[]} features
 * @property {Record<string, string>} [env]
 * @property {boolean} [redis] whether its rate limit counters are in Redis
 */

/** @param {string} file */
const peerProgram = (file) => fileURLToPath(new URL(`../peers/${file}`, import.meta.url));

/** @type {Peer} */
export const SERVICE = {
  name: 'service',
  title: 'this service',
  program: fileURLToPath(new URL('../../dist/main.js', import.meta.url)),
  features: ['animals', 'pages', 'etag', 'keys', 'rejections'],
  // All load comes from one address, so the limits per address and for bans must not apply.
  env: {
    METRICS_PORT: '0',
    ANONYMOUS_REQUESTS_PER_MINUTE: '1000000000',
    BAN_AFTER_REJECTIONS: '1000000000',
  },
};

/** @type {Peer[]} */
export const PEERS = [
  SERVICE,
  {
    ...SERVICE,
    name: 'service-redis',
    title: 'this service, counters in Redis',
    redis: true,
  },
  {
    name: 'constant',
    title: 'node:http, constant body',
    program: peerProgram('constant.mjs'),
    features: ['rejections'],
  },
  {
    name: 'node-http',
    title: 'node:http + pg',
    program: peerProgram('node-http.mjs'),
    features: ['animals'],
  },
  {
    name: 'fastify',
    title: 'Fastify with API keys and rate limits',
    program: peerProgram('fastify.mjs'),
    features: ['animals', 'keys', 'rejections'],
  },
  {
    name: 'express-bare',
    title: 'bare Express',
    program: peerProgram('express-bare.mjs'),
    features: ['animals', 'etag'],
  },
  {
    name: 'express-keys',
    title: 'Express with API keys and rate limits',
    program: peerProgram('express-keys.mjs'),
    features: ['animals', 'etag', 'keys', 'rejections'],
  },
  {
    name: 'express-redis',
    title: 'Express with API keys and rate limits in Redis',
    program: peerProgram('express-keys.mjs'),
    features: ['animals', 'etag', 'keys', 'rejections'],
    redis: true,
  },
  {
    name: 'nest-fastify',
    title: 'ordinary NestJS on Fastify',
    program: peerProgram('nest.ts'),
    features: ['animals'],
    env: { ADAPTER: 'fastify' },
  },
  {
    name: 'nest-express',
    title: 'ordinary NestJS on Express',
    program: peerProgram('nest.ts'),
    features: ['animals', 'etag'],
  },
];
