/** An operator's change that cannot be made; the message is one line that tells why, and what to do. */
export class AdministrationError extends Error {
  override readonly name = 'AdministrationError';
}
