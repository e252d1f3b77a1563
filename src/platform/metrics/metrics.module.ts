import { Module } from '@nestjs/common';
import { AuthModule } from '../access/auth.module.js';
import { EventsModule } from '../events/events.module.js';
import { HealthModule } from '../health/health.module.js';
import { RateLimitModule } from '../rate-limit/rate-limit.module.js';
import { ComponentMetrics } from './component-metrics.js';
import { ServiceMetrics } from './service-metrics.js';

@Module({
  imports: [AuthModule, EventsModule, HealthModule, RateLimitModule],
  providers: [ServiceMetrics, ComponentMetrics],
  exports: [ServiceMetrics],
})
export class MetricsModule {}
