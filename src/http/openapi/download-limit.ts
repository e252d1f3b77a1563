import { normalizeIp } from '@nestjs/throttler';
import { serviceOverloaded } from '../../errors/service-error.js';
import type { NextFunction, Request, Response, SetRateLimitHeaders } from '../request/request.js';

/** So that one client cannot keep the documentation from all others. */
const SHARE_OF_AN_ADDRESS = 0.25;
const IPV6_PREFIX_BITS = 64;

/**
 * Limits how many responses are sent at the same time, in total and to one client address. For content that needs no
 * API key and is not counted in any rate limit.
 */
export class DownloadLimit {
  private inProgress = 0;
  private readonly inProgressOf = new Map<string, number>();
  private rejectedCount = 0;

  /**
   * @param max how many, in total
   * @param setRateLimitHeaders sets those of a response to a rejected request, without counting the request
   */
  constructor(
    private readonly max: number,
    private readonly setRateLimitHeaders: SetRateLimitHeaders,
  ) {}

  /** How many requests it has rejected since the start. */
  get rejected(): number {
    return this.rejectedCount;
  }

  /** Middleware that rejects a request over the limit with 503. A download ends when the connection has taken all of it. */
  readonly admit = async (
    request: Request,
    response: Response,
    next: NextFunction,
  ): Promise<void> => {
    const address = normalizeIp(request.clientAddress ?? '', IPV6_PREFIX_BITS);
    const ofAddress = this.inProgressOf.get(address) ?? 0;
    if (this.inProgress >= this.max || ofAddress >= this.max * SHARE_OF_AN_ADDRESS) {
      this.rejectedCount++;
      await this.setRateLimitHeaders(request, response);
      throw serviceOverloaded('MAX_DOCS_DOWNLOADS');
    }
    this.inProgress++;
    this.inProgressOf.set(address, ofAddress + 1);
    response.once('close', () => this.release(address));
    next();
  };

  private release(address: string): void {
    this.inProgress--;
    const remaining = (this.inProgressOf.get(address) ?? 0) - 1;
    if (remaining > 0) this.inProgressOf.set(address, remaining);
    else this.inProgressOf.delete(address);
  }
}
