import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisAddress } from '../../config/redis-settings.js';

export const CONNECT_TIMEOUT_MS = 1_000;
/** A connection on which an answer is this late is made anew: its other end may be gone without a word. */
const DEAD_AFTER_MS = 3_000;
const MAX_RECONNECT_DELAY_MS = 1_000;
/** How long a Cluster's change of masters can stay unnoticed where no node tells of it. */
const TOPOLOGY_REFRESH_MS = 5_000;

/** Returns a client that is not connected yet. It queues nothing and repeats nothing, and connects again by itself. */
export function createRedisClient({ nodes, tls, username, password, database }: RedisAddress) {
  const options: RedisOptions = {
    ...(tls && { tls: {} }),
    ...(username && { username }),
    ...(password && { password }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: DEAD_AFTER_MS,
    keepAlive: 5_000,
    disableClientInfo: true,
    // A server that is still loading says so to the probe, too.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
  };
  const [first, ...rest] = nodes;
  if (first && rest.length === 0) {
    return new Redis({ ...options, ...first, db: database, retryStrategy: reconnectDelayMs });
  }
  return new Cluster([...nodes], {
    redisOptions: options,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    lazyConnect: true,
    clusterRetryStrategy: reconnectDelayMs,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    slotsRefreshInterval: TOPOLOGY_REFRESH_MS,
    // Where a slot has moved is followed; a command that failed is not repeated.
    maxRedirections: 4,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
  });
}

function reconnectDelayMs(attempts: number): number {
  return Math.min(attempts * 100, MAX_RECONNECT_DELAY_MS);
}
