/** An operator's change is not possible. The message is one line with the reason and what to do. */
export class AdministrationError extends Error {
  override readonly name = 'AdministrationError';
}
