import { Injectable, type NestMiddleware } from '@nestjs/common';
import { setLimitHeaders } from '../http/request/address-limits.js';
import { isHealthProbe } from '../http/request/request-context.js';
import type { NextFunction, Request, Response } from '../http/request/request.js';
import { RateLimiter } from './rate-limiter.js';

/** Sets the rate limit headers of the client address, which PlanThrottlerGuard replaces. */
@Injectable()
export class AddressHeaders implements NestMiddleware {
  constructor(private readonly limiter: RateLimiter) {}

  use(request: Request, response: Response, next: NextFunction): void {
    if (!isHealthProbe(request)) {
      setLimitHeaders(response, this.limiter.peekForAddress(request.clientAddress));
    }
    next();
  }
}
