/** What kept the service from starting and can be mended by who runs it: its message is one line. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
