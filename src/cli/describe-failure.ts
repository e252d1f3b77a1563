/** Returns in one line why a command failed. */
export function describeFailure(error: unknown): string {
  // A name with several addresses fails with an error for each.
  const cause: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const message = (cause instanceof Error ? cause.message : String(cause))
    .replace(/\s+/g, ' ')
    .trim();
  const { syscall } = cause as NodeJS.ErrnoException;
  return syscall === 'connect' || syscall === 'getaddrinfo'
    ? `the database cannot be reached: ${message}`
    : message;
}
