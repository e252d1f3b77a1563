import { SettingError } from './setting-error.js';

const DEFAULT_PORT = 6379;

/** Where Redis is: one server, or some nodes of a Cluster. */
export interface RedisAddress {
  /** More than one: nodes of a Cluster. */
  nodes: readonly { host: string; port: number }[];
  tls: boolean;
  username: string;
  password: string;
  /** Number of the database on a single server. */
  database: number;
}

/** What the counters in Redis need. */
export interface RedisSettings {
  address: RedisAddress;
  /** What every key begins with. */
  prefix: string;
  commandTimeoutMs: number;
}

/** @throws SettingError */
export function parseRedisAddress(setting: string, text: string): RedisAddress {
  const urls = text.split(',').map((item) => parseNode(item.trim()));
  const [first] = urls;
  if (!first || !urls.every((url) => url !== undefined)) throw invalid(setting);
  const isCluster = urls.length > 1;
  if (isCluster && urls.some(({ pathname }) => pathname.length > 1)) throw invalid(setting);
  if (urls.some((url) => credentials(url) !== credentials(first))) {
    throw new SettingError(setting, 'nodes of one Cluster, with one protocol, user and password');
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
  if (!/^rediss?:\/\/[^/?#\s]+(?:\/\d{0,5})?$/.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.hostname !== '' && url.port !== '0' && decodes(url) ? url : undefined;
}

function decodes({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username);
    decodeURIComponent(password);
    return true;
  } catch {
    return false;
  }
}

function credentials({ protocol, username, password }: URL): string {
  return `${protocol} ${username} ${password}`;
}

function invalid(setting: string): SettingError {
  return new SettingError(
    setting,
    'an address such as redis://user:password@host:6379, rediss:// for TLS, or those of nodes of a Cluster, comma-separated',
  );
}
