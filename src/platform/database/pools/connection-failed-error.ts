/** pg's own message does not say which wait has expired. */
const TIMEOUT = 'timeout expired';

/**
 * No connection to the database could be opened, for any reason. The message is that of the cause,
 * or of the first address if several were tried.
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
