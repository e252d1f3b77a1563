import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type EnvironmentReader, isCertificate } from './environment-reader.js';
import { isDecodable, parseUrl } from './url.js';

/** The values that libpq knows. */
const TLS_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];
const TLS_FILES = ['sslrootcert', 'sslcert', 'sslkey'];
const TLS_PARAMETERS = ['sslmode', ...TLS_FILES];

const TIMEOUT = { min: 0.1, max: 60 };
const EXAMPLE = 'postgres://user:password@host:5432/database';

export type DatabaseSettings = Readonly<ReturnType<typeof readDatabaseSettings>>;

export function readDatabaseSettings(read: EnvironmentReader) {
  return {
    ...databaseUrls(read),
    poolSize: read.integer('DATABASE_POOL_SIZE', 10, { min: 1, max: 1000 }),
    /** Calls that may wait for a connection. */
    queueSize: read.integer('DATABASE_QUEUE_SIZE', 500, { min: 1, max: 100_000 }),
    /** Connections for lookups of API keys and readiness. */
    lookupPoolSize: read.integer('DATABASE_LOOKUP_POOL_SIZE', 2, { min: 1, max: 100 }),
    poolWaitMs: read.seconds('DATABASE_POOL_WAIT_SECONDS', 2, TIMEOUT),
    statementTimeoutMs: read.seconds('DATABASE_STATEMENT_TIMEOUT_SECONDS', 2, TIMEOUT),
    lockTimeoutMs: read.seconds('DATABASE_LOCK_TIMEOUT_SECONDS', 2, TIMEOUT),
    readinessTimeoutMs: read.seconds('READINESS_TIMEOUT_SECONDS', 0.4, { min: 0.05, max: 60 }),
    migrateOnStart: read.boolean('MIGRATE_ON_START', true),
    /** Absolute path of the folder with the embedded database. */
    dataDir: resolve(read.text('DATA_DIR') ?? '.data'),
  };
}

function databaseUrls(read: EnvironmentReader) {
  const password = read.secret('DATABASE_PASSWORD');
  const directPassword = read.secret('DATABASE_DIRECT_PASSWORD');
  const url = withPassword(databaseUrl(read, 'DATABASE_URL'), password);
  const direct = withPassword(databaseUrl(read, 'DATABASE_DIRECT_URL'), directPassword ?? password);
  if (url === undefined) {
    if (password !== undefined) rejectAlone(read, 'DATABASE_PASSWORD', 'DATABASE_URL');
    if (direct !== undefined) rejectAlone(read, 'DATABASE_DIRECT_URL', 'DATABASE_URL');
  }
  if (direct === undefined && directPassword !== undefined) {
    rejectAlone(read, 'DATABASE_DIRECT_PASSWORD', 'DATABASE_DIRECT_URL');
  }
  const directUrl = direct ?? url;
  return {
    /** undefined: the embedded server in `dataDir`. */
    url,
    /** The address that bypasses a connection pooler; `url` by default. */
    directUrl,
    /** Whether `url` and `directUrl` differ in more than the user and the password. */
    usesConnectionPooler: withoutCredentials(url) !== withoutCredentials(directUrl),
  };
}

function databaseUrl(read: EnvironmentReader, name: string): string | undefined {
  const text = read.secret(name);
  if (text === undefined) return undefined;
  if (!isDatabaseUrl(text)) return read.reject(name, `an address such as ${EXAMPLE}`, EXAMPLE);
  return withTls(text, read, name);
}

/** Checks the TLS parameters of an address. Returns one from which pg reads them as libpq does. */
function withTls(address: string, read: EnvironmentReader, name: string): string {
  const reject = (expected: string) => read.reject(name, expected, EXAMPLE);
  const url = new URL(address);
  const { searchParams: parameters } = url;
  const given = [...parameters.keys()].filter((parameter) => /^ssl/i.test(parameter));
  if (!given.every((parameter) => TLS_PARAMETERS.includes(parameter))) {
    return reject(
      'sslmode, sslrootcert, sslcert and sslkey as the only parameters that begin with ssl',
    );
  }
  // pg uses the last one.
  const repeated = given.find((parameter, index) => given.indexOf(parameter) < index);
  if (repeated !== undefined) return reject(`${repeated} only once`);
  for (const parameter of TLS_FILES) {
    const path = parameters.get(parameter);
    if (path === null) continue;
    const content = contentOf(path);
    if (content === undefined) return reject(`${parameter} to be the path of a readable file`);
    if (parameter !== 'sslkey' && !isCertificate(content)) {
      return reject(`${parameter} to be a file with a certificate in PEM, unlike ${path}`);
    }
  }
  const mode = parameters.get('sslmode');
  if (mode === null) {
    const [file] = given;
    if (file !== undefined) return reject(`sslmode together with ${file}`);
    if (!['disable', 'allow'].includes(read.text('PGSSLMODE') ?? 'disable')) {
      return reject('sslmode in the address instead of PGSSLMODE');
    }
    return address;
  }
  if (!TLS_MODES.includes(mode)) return reject(`sslmode to be one of ${TLS_MODES.join(', ')}`);
  const hasAuthority = parameters.has('sslrootcert');
  if (mode === 'verify-ca' && !hasAuthority) {
    return reject('sslrootcert=FILE together with sslmode=verify-ca');
  }
  if ((mode === 'prefer' || mode === 'require') && !hasAuthority) {
    read.warnings.push(
      `${name}: with sslmode=${mode}, the certificate of the database is not checked. Use sslmode=verify-full.`,
    );
  }
  // Without a fallback: pg either uses TLS or does not.
  if (mode === 'allow') parameters.set('sslmode', 'disable');
  if (mode === 'prefer') parameters.set('sslmode', 'require');
  parameters.set('uselibpqcompat', 'true');
  return url.href;
}

/** Returns undefined if the file cannot be read. */
function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function isDatabaseUrl(text: string): boolean {
  const url = parseUrl(text, ['postgres:', 'postgresql:']);
  return url !== undefined && isDecodable(url.href);
}

/**
 * Returns the address with the password if it contains none. pg reads a password from the query
 * too, which also works for an address without a host (a Unix socket).
 */
function withPassword(
  address: string | undefined,
  password: string | undefined,
): string | undefined {
  if (address === undefined || password === undefined) return address;
  const url = new URL(address);
  if (url.password !== '' || url.searchParams.has('password')) return address;
  // Encoded first, because the setter leaves percent signs as they are.
  url.password = encodeURIComponent(password);
  if (url.password === '') url.searchParams.set('password', password);
  return url.href;
}

function withoutCredentials(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  const { host, pathname, searchParams } = new URL(url);
  searchParams.delete('password');
  return `${host}${pathname}?${searchParams.toString()}`;
}

/** Rejects a variable that was set without the one that it needs. */
function rejectAlone(read: EnvironmentReader, name: string, required: string): void {
  if (!read.isRejected(required)) read.reject(name, `a value only together with ${required}`);
}
