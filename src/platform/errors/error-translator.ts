import type { ServiceError } from './service-error.js';

/** Translates the errors of a resource, such as the database, for the caller. */
export abstract class ErrorTranslator {
  /** Returns the error to send, or undefined when the resource did not cause the error. */
  abstract translate(error: unknown): ServiceError | undefined;
}
