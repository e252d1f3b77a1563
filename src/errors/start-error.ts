/** Prevents the start, and the operator can fix the reason. The message is one line. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
