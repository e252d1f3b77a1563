import { type EnvironmentReader, isCertificate } from './environment-reader.js';
import { isDecodable, parseUrl } from './url.js';

const DEFAULT_PORT = 6379;

const EXAMPLE = 'redis://user:password@host:6379';
const TIMEOUT = { min: 0.01, max: 1 };

export type RedisSettings = Readonly<NonNullable<ReturnType<typeof readRedisSettings>>>;
export type RedisAddress = RedisSettings['address'];

/** Returns undefined without REDIS_URL. */
export function readRedisSettings(read: EnvironmentReader) {
  /** The prefix of every key. */
  const prefix = read.text('REDIS_PREFIX') ?? 'aas:';
  // In a Cluster, text in braces selects the slot of a key.
  if (!/^[^{}\s\p{C}]{1,100}$/u.test(prefix)) {
    read.reject('REDIS_PREFIX', '1 to 100 characters without braces and white space');
  }
  const commandTimeoutMs = read.seconds('REDIS_COMMAND_TIMEOUT_SECONDS', 0.1, TIMEOUT);
  const address = redisAddress(read);
  return address && { address, prefix, commandTimeoutMs };
}

function redisAddress(read: EnvironmentReader) {
  const text = read.secret('REDIS_URL');
  if (text === undefined) return undefined;
  const urls = text.split(',').map((item) => parseNode(item.trim()));
  const [first] = urls;
  const isCluster = urls.length > 1;
  if (
    !first ||
    !urls.every((url) => url !== undefined) ||
    (isCluster && urls.some(({ pathname }) => pathname.length > 1))
  ) {
    const expected = `an address such as ${EXAMPLE} (rediss:// for TLS), or the addresses of nodes of a Cluster, comma-separated`;
    return read.reject('REDIS_URL', expected);
  }
  if (urls.some((url) => credentials(url) !== credentials(first))) {
    const expected = 'nodes of one Cluster with the same protocol, user and password';
    return read.reject('REDIS_URL', expected);
  }
  const ca = read.secret('REDIS_CA');
  if (ca !== undefined && first.protocol !== 'rediss:') {
    read.reject('REDIS_CA_FILE', 'a value only with a REDIS_URL that begins with rediss://');
  }
  if (ca !== undefined && !isCertificate(ca)) {
    const source = read.text('REDIS_CA_FILE') ?? 'REDIS_CA';
    read.reject('REDIS_CA_FILE', `a file with a certificate in PEM, unlike ${source}`);
  }
  return {
    /** One server, or several nodes of a Cluster. */
    nodes: urls.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? DEFAULT_PORT : Number(port),
    })),
    tls: first.protocol === 'rediss:',
    /** The certificate of a private authority. undefined: the authorities that Node.js trusts. */
    ca,
    username: decodeURIComponent(first.username),
    password: decodeURIComponent(first.password),
    /** Number of the database on a single server. */
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
