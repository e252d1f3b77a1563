import { resolve } from 'node:path';
import type { ClientConfig } from 'pg';
import { parse, toClientConfig } from 'pg-connection-string';
import { type EnvironmentReader, isCertificate } from './environment-reader.js';

/** The TLS parameters of an address, with libpq's names. */
const TLS_PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'];
/** libpq's values. `prefer` does not fall back to a connection without TLS. */
const TLS_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

const TIMEOUT = { min: 0.1, max: 60 };
const EXAMPLE = 'postgres://user:password@host:5432/database';

export type DatabaseSettings = Readonly<ReturnType<typeof readDatabaseSettings>>;

export function readDatabaseSettings(read: EnvironmentReader) {
  return {
    /** undefined: the embedded server in `dataDir`. */
    connection: readConnection(read),
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

function readConnection(read: EnvironmentReader): ClientConfig | undefined {
  const address = read.secret('DATABASE_URL');
  const password = read.secret('DATABASE_PASSWORD');
  if (address === undefined) {
    if (read.isRejected('DATABASE_URL')) return undefined;
    if (password !== undefined) {
      read.reject(read.sourceOf('DATABASE_PASSWORD'), 'a value only together with DATABASE_URL');
    }
    if (read.text('NODE_ENV') === 'production' && read.text('DATA_DIR') === undefined) {
      const expected = 'an address with NODE_ENV=production, or DATA_DIR for the embedded database';
      read.reject('DATABASE_URL', expected);
    }
    return undefined;
  }
  try {
    const connection = parseAddress(address);
    // pg reads PGPASSWORD and PGPASSFILE if there is no password.
    return { ...connection, password: connection.password || password };
  } catch (error) {
    const { message } = error as Error;
    return read.reject(read.sourceOf('DATABASE_URL'), `an address such as ${EXAMPLE} (${message})`);
  }
}

/** @throws Error if the address is invalid, or a file that it names cannot be read */
function parseAddress(address: string): ClientConfig {
  if (!/^postgres(?:ql)?:\/\//.test(address)) throw new Error('another protocol');
  const options = parse(address, { useLibpqCompat: true });
  const unknown = Object.keys(options).find(
    (name) => /^ssl./i.test(name) && !TLS_PARAMETERS.includes(name),
  );
  if (unknown !== undefined) throw new Error(`unknown parameter ${unknown}`);
  const { sslmode } = options as { sslmode?: string };
  if (sslmode !== undefined && !TLS_MODES.includes(sslmode)) {
    throw new Error(`sslmode is one of ${TLS_MODES.join(', ')}`);
  }
  const connection = toClientConfig(options);
  const { ca } = Object(connection.ssl) as { ca?: string };
  if (ca !== undefined && !isCertificate(ca)) {
    throw new Error('sslrootcert is not a file with a certificate in PEM');
  }
  return connection;
}
