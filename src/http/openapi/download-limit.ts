import { serviceOverloaded } from '../../errors/service-error.js';
import { clientNetwork } from '../request/request-context.js';
import type { NextFunction, Request, Response, SetRateLimitHeaders } from '../request/request.js';

/** The share of one address, so that one client cannot block the documentation for all others. */
const SHARE_OF_AN_ADDRESS = 0.25;

/**
 * Limits how many responses are sent at the same time, in total and per client address. It protects
 * content that needs no API key and has no rate limit.
 */
export class DownloadLimit {
  private inProgress = 0;
  private readonly inProgressOf = new Map<string, number>();
  /** The number of rejected requests. */
  rejected = 0;

  /** @param max the number of responses in total */
  constructor(
    private readonly max: number,
    private readonly setRateLimitHeaders: SetRateLimitHeaders,
  ) {}

  /** Middleware that rejects a request over the limit with 503. */
  readonly admit = async (
    request: Request,
    response: Response,
    next: NextFunction,
  ): Promise<void> => {
    const address = clientNetwork(request.clientAddress);
    const ofAddress = this.inProgressOf.get(address) ?? 0;
    if (this.inProgress >= this.max || ofAddress >= this.max * SHARE_OF_AN_ADDRESS) {
      this.rejected++;
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
