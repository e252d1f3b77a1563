import { Module } from '@nestjs/common';
import { InProcessStorage } from './in-process-storage.js';
import { LimitStorage } from './limit-storage.js';
import { RateLimiter } from './rate-limiter.js';

/** How often callers may call. */
@Module({
  providers: [RateLimiter, { provide: LimitStorage, useClass: InProcessStorage }],
  exports: [RateLimiter],
})
export class RateLimitModule {}
