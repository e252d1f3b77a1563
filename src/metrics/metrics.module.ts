import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { RateLimitModule } from '../rate-limit/rate-limit.module.js';
import { CallerMetrics } from './caller-metrics.js';
import { DatabaseMetrics } from './database-metrics.js';
import { ServiceMetrics } from './service-metrics.js';

@Module({
  imports: [AuthModule, RateLimitModule],
  providers: [ServiceMetrics, CallerMetrics, DatabaseMetrics],
  exports: [ServiceMetrics],
})
export class MetricsModule {}
