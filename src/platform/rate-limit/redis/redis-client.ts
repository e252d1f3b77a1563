import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisAddress } from '../../config/redis-settings.js';

export const CONNECT_TIMEOUT_MS = 1_000;
/** A connection without a reply for this time is replaced: its other end may be unreachable. */
const SOCKET_TIMEOUT_MS = 3_000;
const MAX_RECONNECT_DELAY_MS = 1_000;
/** How long a change of masters in a Cluster can go unnoticed if no node reports it. */
const TOPOLOGY_REFRESH_MS = 5_000;

/**
 * Returns a client that is not connected yet. It reconnects automatically. It does not retry
 * commands that may have run. Send commands only while its status is `ready`: a Cluster would queue them.
 */
export function createRedisClient(address: RedisAddress) {
  const { urls, ca } = address;
  const [url = ''] = urls;
  const options: RedisOptions = {
    ...(ca !== undefined && { tls: { ca } }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    keepAlive: 5_000,
    disableClientInfo: true,
    // Not needed: the probe of the circuit fails while a server loads its data.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
  };
  if (urls.length === 1) {
    return new Redis(url, {
      ...options,
      retryStrategy: reconnectDelayMs,
      // The address may lead to another master by now.
      reconnectOnError: ({ message }) => message.startsWith('READONLY '),
    });
  }
  // The nodes report the addresses of the others, without these.
  const { protocol, username, password } = new URL(url);
  return new Cluster([...urls], {
    redisOptions: {
      ...options,
      ...(protocol === 'rediss:' && { tls: { ...(ca !== undefined && { ca }) } }),
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
    },
    // Otherwise it rejects commands for a node while it connects to it: a new or promoted master.
    enableOfflineQueue: true,
    enableReadyCheck: false,
    lazyConnect: true,
    clusterRetryStrategy: reconnectDelayMs,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    slotsRefreshInterval: TOPOLOGY_REFRESH_MS,
    // Redirections to the node of a moved slot are followed. Commands that may have run are not retried.
    maxRedirections: 4,
    retryDelayOnFailover: 0,
    // During a planned failover, a node can reject commands for the slots for a moment.
    retryDelayOnClusterDown: 20,
  });
}

function reconnectDelayMs(attempts: number): number {
  return Math.min(attempts * 100, MAX_RECONNECT_DELAY_MS);
}
