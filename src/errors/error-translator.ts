import type { ServiceError } from './service-error.js';

/** Tells what a failure of a resource (a database, say) means for a caller. */
export abstract class ErrorTranslator {
  /** Returns the failure to answer with, or undefined when the error is not of this resource. */
  abstract translate(error: unknown): ServiceError | undefined;
}
