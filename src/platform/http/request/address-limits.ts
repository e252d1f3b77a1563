import type { ServiceError } from '../../errors/service-error.js';
import type { Response } from './request.js';

/** The rate limits of client addresses, for requests whose caller is not identified. */
export abstract class AddressLimits {
  /** Counts a request, and sets the rate limit headers. Returns the 429 if it is over the limit. */
  abstract consumeForAddress(
    address: string | undefined,
    response: Response,
  ): Promise<ServiceError | undefined>;

  /** Sets the headers without a count, from the memory of this process. */
  abstract reportForAddress(address: string | undefined, response: Response): void;
}
