import { type EnvironmentReader, isCertificate } from './environment-reader.js';

const ADDRESS = /^rediss?:\/\/[^/?#\s]+(?:\/\d{0,5})?$/;
const EXPECTED =
  'an address such as redis://user:password@host:6379 (rediss:// for TLS), or comma-separated nodes of a Cluster with the same protocol, user and password';

const TIMEOUT = { min: 0.01, max: 1 };

export type RedisSettings = Readonly<NonNullable<ReturnType<typeof readRedisSettings>>>;
export type RedisAddress = Pick<RedisSettings, 'urls' | 'ca'>;

/** Returns undefined without REDIS_URL. */
export function readRedisSettings(read: EnvironmentReader) {
  /** The prefix of every key. */
  const prefix = read.text('REDIS_PREFIX') ?? 'aas:';
  // In a Cluster, text in braces selects the slot of a key.
  if (!/^[^{}\s\p{C}]{1,100}$/u.test(prefix)) {
    read.reject('REDIS_PREFIX', '1 to 100 characters without braces and white space');
  }
  const commandTimeoutMs = read.seconds('REDIS_COMMAND_TIMEOUT_SECONDS', 0.1, TIMEOUT);
  const text = read.secret('REDIS_URL');
  /** The certificate of a private authority. undefined: the authorities that Node.js trusts. */
  const ca = read.secret('REDIS_CA');
  if (ca !== undefined && !isCertificate(ca)) {
    read.reject(read.sourceOf('REDIS_CA'), 'a certificate in PEM');
  } else if (ca !== undefined && !/^\s*rediss:/.test(text ?? '')) {
    const expected = 'a value only with a REDIS_URL that begins with rediss://';
    read.reject(read.sourceOf('REDIS_CA'), expected);
  }
  if (text === undefined) return undefined;
  /** One server, or several nodes of a Cluster. */
  const urls = text.split(',').map((url) => url.trim());
  if (!areAddresses(urls)) return read.reject(read.sourceOf('REDIS_URL'), EXPECTED);
  return { urls, ca, prefix, commandTimeoutMs };
}

function areAddresses(texts: readonly string[]): boolean {
  if (!texts.every((text) => ADDRESS.test(text) && URL.canParse(text))) return false;
  const urls = texts.map((text) => new URL(text));
  // A Cluster has only the database 0.
  const hasDatabase = urls.some(({ pathname }) => pathname.length > 1);
  const logins = new Set(
    urls.map(({ protocol, username, password }) => `${protocol}${username}:${password}`),
  );
  return urls.every(({ port }) => port !== '0') && logins.size === 1 && !(urls[1] && hasDatabase);
}
