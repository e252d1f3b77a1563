import { ConnectionFailedError } from '../database/pools/connection-failed-error.js';

/** Returns in one line why a command failed. */
export function describeFailure(error: unknown): string {
  const message = (error instanceof Error ? error.message : String(error))
    .replace(/\s+/g, ' ')
    .trim();
  return error instanceof ConnectionFailedError
    ? `The database cannot be reached: ${message}`
    : message;
}
