import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ServiceMetrics } from '../metrics/service-metrics.js';
import { ApiKey, KeySecret } from './api-key.entity.js';
import { Authenticator } from './authenticator.js';
import { IssuedKeys } from './key-cache/issued-keys.js';
import { KeyCache } from './key-cache/key-cache.js';
import { KeyLookupRepository } from './key-cache/key-lookup.repository.js';
import { Owner } from './owner.entity.js';
import { KeyUsage } from './usage/key-usage.js';
import { KeyUsageOfDay } from './usage/key-usage.entity.js';
import { KeyUsageRepository } from './usage/key-usage.repository.js';

/** Owners, their plans and API keys; identifies the caller of a request. */
@Module({
  imports: [TypeOrmModule.forFeature([Owner, ApiKey, KeySecret, KeyUsageOfDay])],
  providers: [
    Authenticator,
    IssuedKeys,
    KeyCache,
    KeyLookupRepository,
    KeyUsage,
    KeyUsageRepository,
  ],
  exports: [Authenticator, KeyCache, KeyUsage],
})
export class AccessModule {
  constructor(metrics: ServiceMetrics, { statistics }: KeyCache) {
    metrics.add(
      'key_lookups_total',
      'Uses of cached API keys, queries for API keys, and uses of stale API keys while the database was unreachable, by source',
      () => statistics,
      ['source'],
    );
  }
}
