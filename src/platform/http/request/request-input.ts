import type { ServiceError } from '../../errors/service-error.js';
import type { Request } from './request.js';

const INPUT = Symbol('input');

/** What the service does with the body of a request and what follows it. */
interface RequestInput {
  /**
   * The service reads none of it, and the connection closes after the response. Node's parser reads no
   * body if it is set before the first asynchronous step.
   */
  isIgnored?: boolean;
  /** The client has not sent its body yet. */
  isAwaited?: boolean;
  /** Why the rest of the body cannot arrive. */
  failure?: ServiceError;
}

/** Returns the state of a request's input, which its steps change. */
export function inputOf(request: Request & { [INPUT]?: RequestInput | undefined }): RequestInput {
  return (request[INPUT] ??= {});
}
