/** The maximum number of nested errors in a log line. */
const MAX_DEPTH = 4;

/** The properties of an error in a log line. */
interface ErrorDetails {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: ErrorDetails;
}

/**
 * Returns the details of an error for the log, without the other properties that libraries attach:
 * a database error has the values of its statement, which come from a request body.
 */
export function errorDetails(error: unknown, depth = 1): ErrorDetails {
  if (!(error instanceof Error)) return { type: typeof error, message: describeCause(error) };
  const { cause, stack } = error;
  const code = codeOf(error);
  return {
    type: error.name,
    message: describeCause(error),
    ...(code !== undefined && { code }),
    ...(stack !== undefined && { stack: stack.replace(error.message, messageOf(error)) }),
    ...(cause !== undefined && depth < MAX_DEPTH && { cause: errorDetails(cause, depth + 1) }),
  };
}

/** Returns one line of text about a thrown value. The text is never empty. */
export function describeCause(cause: unknown, depth = 1): string {
  if (typeof cause === 'string' && cause !== '') return cause;
  if (!(cause instanceof Error)) return `a thrown ${cause === null ? 'null' : typeof cause}`;
  const code = codeOf(cause);
  const message = firstLine(messageOf(cause)) || (depth < MAX_DEPTH && nestedMessage(cause, depth));
  if (!message) return code ?? (cause.name || 'Error');
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}

/** Node rejects with an AggregateError without a message when every address of a host fails. */
function nestedMessage(error: Error, depth: number): string | undefined {
  const nested: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return nested === undefined ? undefined : describeCause(nested, depth + 1);
}

/** PostgreSQL quotes the rejected value at the end of a data exception (SQLSTATE class 22). */
function messageOf(error: Error): string {
  return codeOf(error)?.startsWith('22') ? error.message.replace(/: ".*"$/s, '') : error.message;
}

function codeOf(error: Error): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code !== '' ? code : undefined;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]?.trim() ?? '';
}
