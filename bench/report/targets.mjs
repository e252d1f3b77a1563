// @ts-check
/**
 * A limit for the ratio of two medians of the same run: the figure of a peer, divided by the same
 * figure of another peer or scenario.
 *
 * @typedef {object} Target
 * @property {'nodeUs' | 'requestsPerSecond' | 'residentBytes'} figure
 * @property {string} scenario
 * @property {string} peer
 * @property {string} otherPeer
 * @property {string} [otherScenario] `scenario` by default
 * @property {number} [atMost]
 * @property {number} [atLeast]
 * @property {boolean} [optional]
 */

/** @type {(scenario: string, otherPeer: string, atMost: number, more?: Partial<Target>) => Target} */
const nodeTime = (scenario, otherPeer, atMost, more = {}) => ({
  figure: 'nodeUs',
  scenario,
  peer: 'service',
  otherPeer,
  atMost,
  ...more,
});

/** @type {(otherPeer: string, atLeast: number) => Target} */
const throughput = (otherPeer, atLeast) => ({
  figure: 'requestsPerSecond',
  scenario: 'list-20',
  peer: 'service',
  otherPeer,
  atLeast,
});

/** @type {Target[]} */
export const TARGETS = [
  nodeTime('list-20', 'express-bare', 0.75),
  nodeTime('list-20', 'node-http', 1.5, { optional: true }),
  nodeTime('list-20', 'fastify', 1.15, { optional: true }),
  nodeTime('list-20', 'express-keys', 0.4),
  nodeTime('list-20', 'nest-express', 0.22),
  nodeTime('list-20', 'nest-fastify', 0.33),
  nodeTime('list-20', 'express-redis', 0.42, { peer: 'service-redis' }),
  nodeTime('create', 'express-bare', 0.7),
  nodeTime('create', 'nest-express', 0.22),
  nodeTime('get', 'node-http', 1.5, { optional: true }),
  nodeTime('no-key', 'constant', 2.5),
  nodeTime('over-limit', 'constant', 2.5),
  nodeTime('last-page', 'service', 1.1, { otherScenario: 'list-20' }),
  throughput('express-bare', 1.4),
  throughput('nest-express', 4),
  {
    figure: 'residentBytes',
    scenario: 'list-20',
    peer: 'service',
    otherPeer: 'nest-express',
    atMost: 1.2,
  },
];

/** Limits for figures of the service alone. */
export const LIMITS = {
  bytesPerCounter: 150,
  idleOwnersBytes: 200_000_000,
  warmStartMs: 2_000,
  databaseUrlStartMs: 1_000,
  overload: {
    goodputShare: 0.85,
    acceptedP99Ms: 1_000,
    liveMs: 500,
    memoryGrowthBytes: 100_000_000,
    recoveryMs: 2_000,
  },
};
