import {
  EntityNotFoundError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';
import {
  databaseUnavailable,
  ServiceError,
  serviceOverloaded,
  serviceUnavailable,
} from '../errors/service-error.js';
import { ConnectionFailedError, DatabaseQueueFullError } from './pools/bounded-pool.js';

/** Node.js error codes of a broken connection. */
const CONNECTION_CODE = /^(?:ECONNRESET|E(?:HOST|NET)(?:DOWN|UNREACH)|EPIPE|ETIMEDOUT)$/;

/** pg's errors of a broken connection without a code. */
const CONNECTION_MESSAGE =
  /^(?:Connection terminated|Client (?:has encountered a connection error|was closed))/;

/**
 * SQLSTATEs that the request did not cause: connection exceptions (08), authorization (28),
 * insufficient resources (53), operator intervention (57), system errors (58), serialization
 * failures, deadlocks, lock timeouts, idle transactions, stale prepared statements, and a standby.
 */
const TEMPORARY_STATE = /^(?:08|28|53|57|58)|^(?:40001|40P01|55P03|25006|25P03|26000)$/;

/** SQLSTATEs of text that is too long, numbers out of range, and NUL, which the caller has sent. */
const UNSTORABLE_VALUE = /^(?:22001|22003|22021|22P05)$/;

/** SQLSTATEs of a violated foreign key. From PostgreSQL 18 on, `ON DELETE RESTRICT` has its own. */
const REFERENCE_VIOLATION = /^(?:23503|23001)$/;

/** PostgreSQL reports in a text that depends on the language of the server which of both it is. */
const REFERENCES =
  'The request refers to a resource that does not exist, or removes one that others refer to.';

const UNAVAILABLE = [
  ConnectionFailedError,
  DatabaseQueueFullError,
  // TypeORM's errors when a connection has broken between two statements of a transaction.
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
];

/**
 * Translates temporary failures of the database into 503, a value that it cannot store into 400, a
 * violated foreign key into 409, and a row that TypeORM's `…OrFail` methods do not find into 404. Returns
 * undefined for all other errors.
 */
export function translateDatabaseError(error: unknown): ServiceError | undefined {
  if (error instanceof DatabaseQueueFullError) return serviceOverloaded(error);
  if (isUnavailable(error)) {
    // Connections to other services break with the same codes.
    const isConnection = CONNECTION_CODE.test(codeOf(error));
    return isConnection ? serviceUnavailable(error) : databaseUnavailable(error);
  }
  if (error instanceof EntityNotFoundError) {
    return new ServiceError('not_found', undefined, { cause: error });
  }
  if (findViolatedReference(error)) {
    return new ServiceError('conflict', REFERENCES, { cause: error });
  }
  if (UNSTORABLE_VALUE.test(codeOf(error))) {
    const message =
      'A value of the request is invalid, out of range, too long, or contains NUL or a lone surrogate.';
    return new ServiceError('invalid_request', message, { cause: error });
  }
  return undefined;
}

/** A violated foreign key. */
export interface ViolatedReference {
  /** The table that refers to another one. */
  readonly table: string;
  /** The name of the foreign key. */
  readonly constraint: string;
  /** The value of the key, such as `42`, unless the role may not read it. */
  readonly key: string | undefined;
}

/** Returns the foreign key that a statement or a commit has violated, or null for another error. */
export function findViolatedReference(error: unknown): ViolatedReference | null {
  if (!REFERENCE_VIOLATION.test(codeOf(error))) return null;
  const { table = '', constraint = '', detail } = error as Partial<Record<string, string>>;
  return { table, constraint, key: /\)=\((.*?)\)/.exec(detail ?? '')?.[1] };
}

/**
 * Whether the database was unavailable: no connection could be opened, a connection broke, or the
 * server rejected the statement for a temporary reason.
 */
export function isUnavailable(error: unknown): boolean {
  if (UNAVAILABLE.some((type) => error instanceof type)) return true;
  const code = codeOf(error);
  if (code === '') return error instanceof Error && CONNECTION_MESSAGE.test(error.message);
  if (code === '0A000') return (error as { routine?: string }).routine === 'RevalidateCachedQuery';
  // PostgreSQL reports a mistake with it, such as too many parameters. PgBouncer ends the connection.
  if (code === '08P01') return (error as { severity?: string }).severity !== 'ERROR';
  return CONNECTION_CODE.test(code) || TEMPORARY_STATE.test(code);
}

/** Returns Node.js's error code or the SQLSTATE, also of an error that TypeORM wraps, or ''. */
function codeOf(error: unknown): string {
  return (error as { code?: string } | null)?.code ?? '';
}
