/** A command failed. The message is one line with the reason and what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
