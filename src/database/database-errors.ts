import { Injectable } from '@nestjs/common';
import {
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';
import { ErrorTranslator } from '../errors/error-translator.js';
import {
  type ServiceError,
  serviceOverloaded,
  serviceUnavailable,
} from '../errors/service-error.js';
import { DatabaseQueueFullError } from './bounded-pool.js';

/** What Node says when a connection cannot be made or kept, for want of the server or of sockets here. */
const CONNECTION_CODES = new Set([
  'EADDRNOTAVAIL',
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETDOWN',
  'ENETUNREACH',
  'ENFILE',
  'EPIPE',
  'ETIMEDOUT',
]);

/** What pg says, without a code, of a connection that is gone, or that did not come or answer in time. */
const CONNECTION_MESSAGE =
  /^(?:Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client (?:has encountered a connection error|was closed)|Cannot use a pool after calling end)/;

/**
 * SQLSTATEs that say nothing of the request: connection exceptions (08), insufficient resources (53),
 * operator intervention (57), system errors (58), authorization (28), and locks not had in time,
 * deadlocks, and a server that has become a standby.
 */
const PASSING_STATE = /^(?:08|28|53|57|58)|^(?:40001|40P01|55P03|25006|25P03)$/;

/** What TypeORM says when a connection has broken between two statements of a transaction. */
const RELEASED = [QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError];

interface DatabaseFailure {
  code?: string;
  constraint?: string;
}

/** Tells failures to reach the database, which pass, from defects. */
@Injectable()
export class DatabaseErrors extends ErrorTranslator {
  override translate(error: unknown): ServiceError | undefined {
    if (error instanceof DatabaseQueueFullError) return serviceOverloaded(error);
    return isUnavailable(error) ? serviceUnavailable(error) : undefined;
  }
}

/** Whether the database could not be reached, or could not take the work, at the moment. */
export function isUnavailable(error: unknown): boolean {
  const failure = driverError(error);
  if (RELEASED.some((Released) => failure instanceof Released)) return true;
  if (failure instanceof DatabaseQueueFullError) return true;
  if (!(failure instanceof Error)) return false;
  const { code } = failure as DatabaseFailure;
  if (failure instanceof AggregateError) return failure.errors.some(isUnavailable);
  if (code === undefined) return CONNECTION_MESSAGE.test(failure.message);
  return CONNECTION_CODES.has(code) || PASSING_STATE.test(code);
}

/** Returns the name of the constraint that a statement violated, if that is why it failed. */
export function violatedConstraint(error: unknown): string | undefined {
  const failure = driverError(error) as DatabaseFailure | undefined;
  return failure?.code?.startsWith('23') ? failure.constraint : undefined;
}

function driverError(error: unknown): unknown {
  return error instanceof QueryFailedError ? error.driverError : error;
}
