import type { ServiceError } from '../../errors/service-error.js';
import type { Response } from './request.js';

/** Rate limit headers, by name. */
export type LimitHeaders = readonly (readonly [name: string, value: string])[];

/** Whether the rate limit of a client address allows a request, and the headers that report it. */
export interface AddressDecision {
  headers: LimitHeaders;
  /** The 429 when the request is over the limit. */
  rejection: ServiceError | undefined;
}

/** The rate limits of client addresses, for requests whose caller is not identified. */
export abstract class AddressLimits {
  /** Counts a request for its client address. */
  abstract consumeForAddress(address: string | undefined): Promise<AddressDecision>;
}

/** Sets the rate limit headers of a response. */
export function setLimitHeaders(response: Response, headers: LimitHeaders): void {
  for (const [name, value] of headers) response.setHeader(name, value);
}
