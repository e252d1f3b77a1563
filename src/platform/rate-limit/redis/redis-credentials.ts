import { Cluster, type Redis } from 'ioredis';
import type { RedisSettings } from '../../config/redis-settings.js';

/** Lets a client read its user, password and authority for each connection, because they may be renewed. */
export function renewCredentials(client: Redis | Cluster, settings: RedisSettings): void {
  if (client instanceof Cluster) {
    // It creates a client for each node, which connects afterwards.
    client.on('+node', (node: Redis) => renewOptions(node, settings));
  } else {
    renewOptions(client, settings);
  }
}

function renewOptions({ options }: Redis, { credentials }: RedisSettings): void {
  const { tls } = options;
  const renewedTls = () => {
    const { ca } = credentials();
    return tls && ca ? { ...tls, ca } : tls;
  };
  Object.defineProperties(options, {
    username: { get: () => credentials().username, enumerable: true },
    password: { get: () => credentials().password, enumerable: true },
    tls: { get: renewedTls, enumerable: true },
  });
}
