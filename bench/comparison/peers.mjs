// @ts-check
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * A feature that a peer supports:
 * - `animals`: list, get and create
 * - `pages`: cursors of this version
 * - `rejections`: 401 and 429
 *
 * @typedef {'animals' | 'pages' | 'rejections'} Feature
 *
 * A server to measure: this service, or a program in bench/peers.
 *
 * @typedef {object} Peer
 * @property {string} name
 * @property {string} program
 * @property {Feature[]} features
 * @property {Record<string, string>} [env]
 * @property {string} [node] program that runs it
 * @property {boolean} [redis] whether its rate limit counters are in Redis
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** @type {Peer} */
export const SERVICE = {
  name: 'service',
  program: programOf(ROOT, 'main'),
  features: ['animals', 'pages', 'rejections'],
  // All load comes from one address, so the limits per address and for bans must not apply.
  env: {
    METRICS_PORT: '0',
    ANONYMOUS_REQUESTS_PER_MINUTE: '1000000000',
    BAN_AFTER_REJECTIONS: '1000000000',
  },
};

/** @type {(name: string, file: string, features: Feature[]) => Peer} */
const peer = (name, file, features) => ({
  name,
  program: join(ROOT, 'bench', 'peers', file),
  features,
});

/** @type {Peer[]} */
export const PEERS = [
  SERVICE,
  { ...SERVICE, name: 'service-redis', redis: true },
  peer('node-http', 'node-http.mjs', ['animals', 'rejections']),
  peer('fastify', 'fastify.mjs', ['animals', 'rejections']),
  {
    ...peer('fastify-duties', 'fastify.mjs', ['animals', 'rejections']),
    env: { DUTIES: 'true' },
  },
  peer('nest-express', 'nest.ts', ['animals']),
];

/** @param {string} folder a built checkout of an earlier commit @returns {Peer} */
export function earlierService(folder) {
  const program = programOf(folder, 'main');
  // The first release has the second name.
  const env = { ...SERVICE.env, BAN_AFTER_REFUSALS: '1000000000' };
  return { name: 'earlier', program, features: ['animals', 'rejections'], env };
}

/**
 * Returns a program of a built checkout.
 *
 * @param {string} folder
 * @param {'main' | 'cli'} name
 */
export function programOf(folder, name) {
  // Some earlier commits built a bundle.
  const bundle = join(folder, 'dist', 'bundle', `${name}.js`);
  if (existsSync(bundle)) return bundle;
  return join(folder, 'dist', name === 'cli' ? 'cli/main.js' : 'main.js');
}
