import { resolve } from 'node:path';
import type { ClientConfig } from 'pg';
import { parse, toClientConfig } from 'pg-connection-string';
import { type EnvironmentReader, hasInvisibleCharacter } from './environment-reader.js';
import type { Product } from './product.js';
import { checkTlsFiles, renewedSettings } from './renewed-settings.js';
import {
  isSessionParameter,
  readSessionParameters,
  type SessionConfig,
} from './session-parameters.js';
import { readTextFile } from './text-file.js';

/** The parts of an address, and the parameters that are implemented, with libpq's names. */
const PARAMETERS =
  /^(?:user|password|host|port|database|options|ssl(?:mode|rootcert|cert|key|negotiation)?)$/;
/** libpq's value for the authorities that the system trusts. pg would read a file of this name. */
const SYSTEM_AUTHORITIES = /(?<=[?&])sslrootcert=system(?=&|$)/;
/** As in libpq. pg connects to one host. */
const SEVERAL_HOSTS = /^\w+:\/\/(?:[^/?#]*@)?[^/?#@]*,|[?&]host=[^&]*(?:,|%2C)/i;
/** The parts of pg's TLS options that files contain. */
const TLS_FILES = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' };
/** As in libpq, without `allow`, which pg does not have. */
const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];

const TIMEOUT = { min: 0.1, max: 60 };

/**
 * The kind of process. At most one service uses an embedded database, and any number of commands, with or
 * without a service.
 */
export type ProcessKind = 'service' | 'command';

/** Where the database is, as pg's configuration. */
export interface ConnectionSettings extends SessionConfig {
  /** Returns those of a new connection. Their files may have been renewed. By default, they never change. */
  readonly credentials?: () => Pick<ClientConfig, 'user' | 'password' | 'ssl'>;
}

export type DatabaseSettings = Readonly<ReturnType<typeof readDatabaseSettings>>;

export function readDatabaseSettings(
  read: EnvironmentReader,
  { name, database, codeFolder }: Product,
) {
  return {
    /** The embedded database and its superuser, and the start of the application name of connections. */
    name: database,
    /** Is searched for the migrations of the features. */
    codeFolder,
    /** Where root keeps a copy of PostgreSQL's programs. Every user may read it, only root writes to it. */
    programsFolder: `/var/cache/${name}`,
    /** undefined: the embedded server in `dataDir`. */
    connection: readRenewedConnection(read),
    poolSize: read.integer('DATABASE_POOL_SIZE', 10, { min: 1, max: 1000 }),
    /** Calls that may wait for a connection. */
    queueSize: read.integer('DATABASE_QUEUE_SIZE', 500, { min: 1, max: 100_000 }),
    poolWaitMs: read.seconds('DATABASE_POOL_WAIT_SECONDS', 2, TIMEOUT),
    statementTimeoutMs: read.seconds('DATABASE_STATEMENT_TIMEOUT_SECONDS', 2, TIMEOUT),
    lockTimeoutMs: read.seconds('DATABASE_LOCK_TIMEOUT_SECONDS', 2, TIMEOUT),
    readinessTimeoutMs: read.seconds('READINESS_TIMEOUT_SECONDS', 0.4, { min: 0.05, max: 60 }),
    migrateOnStart: read.boolean('MIGRATE_ON_START', true),
    /** Absolute path of the folder with the embedded database. */
    dataDir: resolve(read.visibleText('DATA_DIR', '.data')),
  };
}

function readRenewedConnection(read: EnvironmentReader): ConnectionSettings | undefined {
  const connection = readConnection(read);
  if (connection === undefined) return undefined;
  const renewed = renewedSettings(read, readConnection, connection);
  const credentials = () => {
    const { user, password, ssl } = renewed() ?? connection;
    return { user, password, ssl };
  };
  return { ...connection, credentials };
}

function readConnection(read: EnvironmentReader): ClientConfig | undefined {
  const address = read.secret('DATABASE_URL');
  const password = read.secret('DATABASE_PASSWORD');
  if (address === undefined) {
    const isSet = ['DATABASE_URL_FILE', 'DATA_DIR'].some((name) => read.text(name) !== undefined);
    if (isSet || read.visibleText('NODE_ENV') !== 'production') return undefined;
    const expected = 'an address with NODE_ENV=production, or DATA_DIR for the embedded database';
    return read.reject('DATABASE_URL', expected);
  }
  try {
    if (!/^postgres(?:ql)?:\/\//.test(address)) throw new Error('another protocol');
    if (hasInvisibleCharacter(address)) throw new Error('an invisible character');
    if (SEVERAL_HOSTS.test(address))
      throw new Error('several hosts: use a name or a proxy that leads to the primary');
    const trustsSystem = SYSTEM_AUTHORITIES.test(address);
    const options = parse(address.replace(SYSTEM_AUTHORITIES, ''), { useLibpqCompat: true });
    const name = Object.keys(options).find(
      (key) => !PARAMETERS.test(key) && !isSessionParameter(key),
    );
    // Text that is no name may be a part of a password.
    if (name !== undefined) throw new Error(`unknown parameter ${/^\w+$/.exec(name)?.[0] ?? ''}`);
    if (typeof options.ssl === 'string') throw new Error('unknown value of ssl, use sslmode');
    if (trustsSystem) options.ssl ||= {};
    const { port = '', ssl, sslnegotiation, ...rest } = options as Record<string, string>;
    const { sslmode = trustsSystem ? 'verify-full' : 'prefer' } = rest;
    if (!SSL_MODES.includes(sslmode)) throw new Error(`unknown sslmode ${sslmode}`);
    if (trustsSystem && sslmode !== 'verify-full')
      throw new Error('sslrootcert=system needs sslmode=verify-full');
    if (sslnegotiation && !/^(?:postgres|direct)$/.test(sslnegotiation))
      throw new Error(`unknown sslnegotiation ${sslnegotiation}`);
    if (sslnegotiation === 'direct' && !/^require$|^verify/.test(sslmode))
      throw new Error('sslnegotiation=direct needs sslmode=require, verify-ca or verify-full');
    if (/\D/.test(port) || Number(port) > 65_535) throw new Error(`invalid port ${port}`);
    for (const [name, part] of Object.entries(TLS_FILES))
      if (rest[name] && ssl) Object.assign(ssl, { [part]: readTextFile(rest[name]) });
    const session = readSessionParameters(options);
    if (typeof options.ssl === 'object') checkTlsFiles(options.ssl);
    // pg reads PGPASSWORD and PGPASSFILE if there is no password.
    return { ...toClientConfig(options), ...session, password: options.password || password };
  } catch (error) {
    const expected = `an address such as postgres://user:password@host:5432/database (${(error as Error).message})`;
    return read.reject('DATABASE_URL', expected);
  }
}
