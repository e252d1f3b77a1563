import type { EnvironmentReader } from './environment-reader.js';
import { isDecodable, parseUrl } from './url.js';

const DEFAULT_PORT = 6379;

export interface RedisAddress {
  /** One server, or several nodes of a Cluster. */
  nodes: readonly { host: string; port: number }[];
  tls: boolean;
  username: string;
  password: string;
  /** Number of the database on a single server. */
  database: number;
}

export interface RedisSettings {
  address: RedisAddress;
  /** The prefix of every key. */
  prefix: string;
  commandTimeoutMs: number;
}

/** Returns undefined without REDIS_URL. */
export function readRedisSettings(read: EnvironmentReader): RedisSettings | undefined {
  const prefix = read.text('REDIS_PREFIX') ?? 'aas:';
  // In a Cluster, text in braces selects the slot of a key.
  if (!/^[^{}\s\p{C}]{1,100}$/u.test(prefix)) {
    read.reject('REDIS_PREFIX', 'up to 100 characters without braces and white space', undefined);
  }
  const commandTimeoutMs = read.seconds('REDIS_COMMAND_TIMEOUT_SECONDS', 0.1, {
    min: 0.01,
    max: 1,
  });
  const address = redisAddress(read, 'REDIS_URL');
  return address && { address, prefix, commandTimeoutMs };
}

function redisAddress(read: EnvironmentReader, name: string): RedisAddress | undefined {
  const text = read.secret(name);
  if (text === undefined) return undefined;
  const urls = text.split(',').map((item) => parseNode(item.trim()));
  const [first] = urls;
  const isCluster = urls.length > 1;
  if (
    !first ||
    !urls.every((url) => url !== undefined) ||
    (isCluster && urls.some(({ pathname }) => pathname.length > 1))
  ) {
    return read.reject(
      name,
      'an address such as redis://user:password@host:6379 (rediss:// for TLS), or the addresses of nodes of a Cluster, comma-separated',
      undefined,
    );
  }
  if (urls.some((url) => credentials(url) !== credentials(first))) {
    return read.reject(
      name,
      'nodes of one Cluster with the same protocol, user and password',
      undefined,
    );
  }
  return {
    nodes: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? DEFAULT_PORT : Number(port),
    })),
    tls: first.protocol === 'rediss:',
    username: decodeURIComponent(first.username),
    password: decodeURIComponent(first.password),
    database: Number(first.pathname.slice(1)),
  };
}

function parseNode(text: string): URL | undefined {
  if (!/^rediss?:\/\/[^/?#\s]+(?:\/\d{0,5})?$/.test(text)) return undefined;
  const url = parseUrl(text, ['redis:', 'rediss:']);
  const isValid = url && url.hostname !== '' && url.port !== '0' && isDecodable(credentials(url));
  return isValid ? url : undefined;
}

function credentials({ protocol, username, password }: URL): string {
  return `${protocol} ${username} ${password}`;
}
