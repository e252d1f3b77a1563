import { unescape } from 'node:querystring';
import { type EnvironmentReader, hasInvisibleCharacter } from './environment-reader.js';
import { checkTlsFiles, renewedSettings } from './renewed-settings.js';

const ADDRESS = /^rediss?:\/\/(?:[^/?#\s%]|%[\da-f]{2})+(?:\/\d{0,5})?$/i;
const EXPECTED =
  'an address such as redis://user:password@host:6379 (rediss:// for TLS; special characters percent-encoded), or comma-separated nodes of a Cluster, which has only database 0';

export type RedisSettings = Readonly<NonNullable<ReturnType<typeof readRedisSettings>>>;

/** Returns undefined without REDIS_URL. */
export function readRedisSettings(read: EnvironmentReader, defaultPrefix: string) {
  /** The prefix of every key. */
  const prefix = read.text('REDIS_PREFIX', defaultPrefix);
  // In a Cluster, text in braces selects the slot of a key.
  if (!/^[^{}\s\p{C}\p{Default_Ignorable_Code_Point}]{1,100}$/u.test(prefix)) {
    read.reject('REDIS_PREFIX', '1 to 100 characters without braces and white space');
  }
  const limits = { min: 0.01, max: 1 };
  const commandTimeoutMs = read.seconds('REDIS_COMMAND_TIMEOUT_SECONDS', 0.1, limits);
  const servers = readServers(read);
  if (servers === undefined) return undefined;
  const renewed = renewedSettings(read, readServers, servers);
  /** Returns those of a new connection. Their files may have been renewed. */
  const credentials = () => credentialsOf(renewed() ?? servers);
  return { ...servers, credentials, prefix, commandTimeoutMs };
}

function readServers(read: EnvironmentReader) {
  /** The certificate of a private authority. undefined: the authorities that Node.js trusts. */
  const ca = read.secret('REDIS_CA');
  try {
    checkTlsFiles({ ca });
  } catch (error) {
    read.reject('REDIS_CA', `certificates in PEM (${(error as Error).message})`);
  }
  /** One server, or several nodes of a Cluster, with the same protocol, user and password. */
  const urls = read
    .secret('REDIS_URL')
    ?.split(',')
    .map((url) => url.trim());
  if (urls === undefined) return undefined;
  // ioredis decodes the user and the password, which must be UTF-8.
  const isDecodable = (url: string) => !unescape(url).includes('\ufffd');
  const isValid = (url: string) =>
    ADDRESS.test(url) && !hasInvisibleCharacter(url) && URL.canParse(url) && isDecodable(url);
  const areValid = urls.every(isValid);
  const [database = 0, ...others] = areValid ? urls.map(databaseOf) : [];
  const isCluster = others.length > 0;
  if (!areValid || (isCluster && Math.max(database, ...others) > 0)) {
    return read.reject('REDIS_URL', EXPECTED);
  }
  return { urls, database, ca };
}

function databaseOf(url: string): number {
  return Number(new URL(url).pathname.slice(1));
}

function credentialsOf({ urls: [url = ''], ca }: { urls: string[]; ca: string | undefined }) {
  const { username, password } = new URL(url);
  return { username: unescape(username), password: unescape(password), ca };
}
