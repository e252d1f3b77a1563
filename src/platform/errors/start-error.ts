/** The service cannot start for a reason that the operator can fix. One line for each problem. */
export class StartError extends Error {
  override readonly name = this.constructor.name;
}
