/** A command that cannot be done; the message is one line that tells why, and what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
