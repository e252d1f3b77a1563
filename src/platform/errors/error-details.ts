/** The maximum number of nested errors in a log line. */
const MAX_DEPTH = 4;

/**
 * Returns the details of an error for the log, without the other properties that libraries attach:
 * a database error has the values of its statement, which come from a request body.
 */
export function errorDetails(error: unknown, depth = 1): Record<string, unknown> {
  const message = describeCause(error);
  if (!(error instanceof Error)) return { type: typeof error, message };
  const { name: type, stack, cause } = error;
  return {
    type,
    message,
    code: codeOf(error),
    stack: stack?.replace(error.message, messageOf(error)),
    cause: cause && depth < MAX_DEPTH ? errorDetails(cause, depth + 1) : undefined,
  };
}

/** Returns one line of text about a thrown value. The text is never empty. */
export function describeCause(cause: unknown, depth = 1): string {
  if (typeof cause === 'string') return cause;
  if (!(cause instanceof Error)) return `a thrown ${typeof cause}`;
  const code = codeOf(cause);
  let message = messageOf(cause).split('\n', 1)[0];
  // Node rejects with an AggregateError without a message when every address of a host fails.
  const nested: unknown = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  if (!message && nested && depth < MAX_DEPTH) message = describeCause(nested, depth + 1);
  if (!message) return code ?? cause.name;
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}

/** PostgreSQL quotes the rejected value in a data exception (SQLSTATE class 22), in any language. */
function messageOf({ code, message }: Error & { code?: unknown }): string {
  return String(code).startsWith('22') ? message.replace(/:? ["«»„“].*["«»“”]/s, '') : message;
}

function codeOf(error: Error): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code !== '' ? code : undefined;
}
