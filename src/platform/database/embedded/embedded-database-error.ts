import { StartError } from '../../errors/start-error.js';

/** The embedded server cannot be used. The message is one line and ends with what to do. */
export class EmbeddedDatabaseError extends StartError {
  /**
   * @param problem what is wrong, without a full stop
   * @param remedy what to do, other than setting DATABASE_URL
   */
  constructor(problem: string, remedy: string, options?: ErrorOptions) {
    super(`${problem}: ${remedy}, or set DATABASE_URL=postgres://…`.replace(/\s+/g, ' '), options);
  }
}
