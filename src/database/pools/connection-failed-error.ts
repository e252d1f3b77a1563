/** pg's own message does not say which wait has expired. */
const TIMEOUT = 'timeout expired';

/**
 * No connection to the database could be made: for whatever reason, the database is unavailable.
 * The cause is the original error. The message is the cause's; where several addresses were tried,
 * that of the first one.
 */
export class ConnectionFailedError extends Error {
  override readonly name = 'ConnectionFailedError';

  constructor(cause: unknown) {
    super(describe(cause), { cause });
  }
}

function describe(cause: unknown): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  const message = first instanceof Error ? first.message : String(first);
  return message === TIMEOUT ? 'Connection terminated due to connection timeout' : message;
}
