import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import { KeyCache } from '../auth/key-cache/key-cache.js';
import { BoundedPool } from '../database/pools/bounded-pool.js';
import { LookupPools } from '../database/pools/lookup-pools.js';
import { Standbys } from '../database/standbys/standbys.js';
import type { DownloadLimit } from '../http/openapi/download-limit.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';
import { observeLookups, observePool, observeStandbys } from './database-metrics.js';
import { ObservedMetrics } from './observed-metrics.js';
import { observeRateLimits } from './rate-limit-metrics.js';

const DURATION_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

/** Callers can invent methods. As OpenTelemetry specifies, all others share one label. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The metrics of this process. A label never holds an owner, an API key or a raw path. */
@Injectable()
export class ServiceMetrics {
  readonly registry = new Registry();
  /** Metrics whose values are kept elsewhere. */
  readonly observed = new ObservedMetrics(this.registry);

  private readonly requests = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time from the end of a request head to the end of its response',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: DURATION_BUCKETS_SECONDS,
    registers: [this.registry],
  });

  /** The histograms by method, status and route: finding one here is cheaper than by its labels. */
  private readonly series = new Map<string, Histogram.Internal<string>>();

  private readonly deprecatedRequests = new Counter({
    name: 'pets_deprecated_requests_total',
    help: 'Authenticated requests to deprecated operations',
    labelNames: ['http_route'],
    registers: [this.registry],
  });

  constructor(
    keys: KeyCache,
    lookups: LookupPools,
    limiter: RateLimiter,
    standbys: Standbys,
    requests: BoundedPool,
  ) {
    collectDefaultMetrics({ register: this.registry });
    this.observeKeys(keys);
    observeLookups(this.observed, lookups);
    observeRateLimits(this.observed, limiter);
    if (standbys.inRotation.length > 0) observeStandbys(this.observed, standbys);
    observePool(this.observed, requests);
  }

  /** @param route the path template, never the raw path */
  observeRequest(method: string, route: string, status: number, durationMs: number): void {
    const methodLabel = METHODS.has(method) ? method : '_OTHER';
    const key = `${methodLabel} ${status} ${route}`;
    let series = this.series.get(key);
    if (!series) {
      series = this.requests.labels(methodLabel, route, String(status));
      this.series.set(key, series);
    }
    series.observe(durationMs / 1000);
  }

  /** @param route the path template of a deprecated operation */
  observeDeprecated(route: string): void {
    this.deprecatedRequests.labels(route).inc();
  }

  observeDocsDownloads(limit: DownloadLimit): void {
    this.observed.counter(
      'pets_docs_downloads_rejected_total',
      'Requests for the documentation that MAX_DOCS_DOWNLOADS rejected',
      () => limit.rejected,
    );
  }

  observeLog(log: { readonly droppedLines: number }): void {
    this.observed.counter(
      'pets_log_lines_dropped_total',
      'Log lines that were dropped because standard output could not be written and the buffer was full',
      () => log.droppedLines,
    );
  }

  private observeKeys({ statistics }: KeyCache): void {
    this.observed.counters(
      'pets_key_lookups_total',
      'Uses of cached API keys, queries for API keys, and uses of stale API keys while the database was unreachable',
      ['source'],
      () => [
        ['cache', statistics.hits],
        ['database', statistics.queries],
        ['stale', statistics.stale],
      ],
    );
  }
}
