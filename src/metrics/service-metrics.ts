import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { DataSource } from 'typeorm';
import { KeyCache } from '../auth/key-cache/key-cache.js';
import type { BoundedPool } from '../database/pools/bounded-pool.js';
import { connectionPool } from '../database/pools/connection-pool.js';
import { LookupPools } from '../database/pools/lookup-pools.js';
import { Standbys } from '../database/standbys/standbys.js';
import type { DownloadLimit } from '../http/openapi/download-limit.js';
import { RateLimiter } from '../rate-limit/rate-limiter.js';
import { observeRedis } from './redis-metrics.js';
import { observeStandbys } from './standby-metrics.js';

const DURATION_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

/** Others are told as one, as OpenTelemetry does: a caller can think of many. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** What operators watch. No label holds an owner, a key or a raw path: their number would have no bound. */
@Injectable()
export class ServiceMetrics {
  readonly registry = new Registry();

  private readonly requests = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time from the end of a request head to the end of its response',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: DURATION_BUCKETS_SECONDS,
    registers: [this.registry],
  });

  /** As many as label sets: their number has a bound. */
  private readonly series = new Map<string, Histogram.Internal<string>>();

  private readonly deprecatedRequests = new Counter({
    name: 'pets_deprecated_requests_total',
    help: 'Requests to operations that are deprecated, refused ones not counted',
    labelNames: ['http_route'],
    registers: [this.registry],
  });

  constructor(
    keys: KeyCache,
    lookups: LookupPools,
    limiter: RateLimiter,
    standbys: Standbys,
    @InjectDataSource() dataSource: DataSource,
  ) {
    collectDefaultMetrics({ register: this.registry });
    this.observeKeys(keys);
    this.observeLookups(lookups);
    this.observeLimits(limiter);
    if (limiter.circuit) observeRedis(this.registry, limiter.circuit);
    if (standbys.inService.length > 0) observeStandbys(this.registry, standbys);
    this.observePool(connectionPool(dataSource));
  }

  /** @param route the path template, never the raw path */
  observeRequest(method: string, route: string, status: number, durationMs: number): void {
    const told = METHODS.has(method) ? method : '_OTHER';
    const key = `${told} ${status} ${route}`;
    let series = this.series.get(key);
    if (!series) {
      series = this.requests.labels(told, route, String(status));
      this.series.set(key, series);
    }
    series.observe(durationMs / 1000);
  }

  /** @param route the path template of an operation that is deprecated */
  observeDeprecated(route: string): void {
    this.deprecatedRequests.labels(route).inc();
  }

  /** Registers how many downloads of the documentation their limit has rejected. */
  observeDocsDownloads(limit: DownloadLimit): void {
    this.counter(
      'pets_docs_downloads_rejected_total',
      'Requests for the documentation that MAX_DOCS_DOWNLOADS rejected',
      [],
      (counter) => counter.inc(limit.rejected),
    );
  }

  /** Adds the metric of lines that could not be written. @param log the log of this process */
  observeLog(log: { readonly droppedLines: number }): void {
    this.counter(
      'pets_log_lines_dropped_total',
      'Log lines that were dropped because standard output could not be written and the buffer was full',
      [],
      (counter) => counter.inc(log.droppedLines),
    );
  }

  private observeKeys({ statistics }: KeyCache): void {
    this.counter(
      'pets_key_lookups_total',
      'Uses of cached API keys, queries for API keys, and uses of stale ones while the database was unreachable',
      ['source'],
      (counter) => {
        counter.labels('cache').inc(statistics.hits);
        counter.labels('database').inc(statistics.queries);
        counter.labels('stale').inc(statistics.stale);
      },
    );
  }

  private observeLookups({ cached, uncached }: LookupPools): void {
    const pools = Object.entries({ cached, uncached });
    const waiting: Gauge = new Gauge({
      name: 'pets_key_lookups_pending',
      help: 'Lookups that wait for a connection, by whether the API key is in the cache',
      labelNames: ['key'],
      registers: [this.registry],
      collect: () => {
        for (const [key, pool] of pools) waiting.labels(key).set(pool.waitingCount);
      },
    });
    this.counter(
      'pets_key_lookups_rejected_total',
      'Lookups that failed because too many waited, by whether the API key is in the cache',
      ['key'],
      (counter) => {
        for (const [key, pool] of pools) counter.labels(key).inc(pool.rejected);
      },
    );
  }

  private observeLimits(limiter: RateLimiter): void {
    this.counter(
      'pets_limit_decisions_total',
      'Decisions of the request limits, by plan and outcome',
      ['plan', 'outcome'],
      (counter) => {
        for (const [plan, outcome, count] of limiter.statistics.entries()) {
          counter.labels(plan, outcome).inc(count);
        }
      },
    );
    this.counter('pets_bans_total', 'Bans of API keys that began, by plan', ['plan'], (counter) => {
      for (const [plan, count] of limiter.statistics.bans()) counter.labels(plan).inc(count);
    });
  }

  private observePool(pool: BoundedPool): void {
    const connections = new Gauge({
      name: 'db_client_connection_count',
      help: 'Connections of the pool, by state',
      labelNames: ['state'],
      registers: [this.registry],
      collect: () => {
        connections.labels('idle').set(pool.idleCount);
        connections.labels('used').set(pool.totalCount - pool.idleCount);
      },
    });
    new Gauge({
      name: 'db_client_connection_max',
      help: 'Connections that the pool may have',
      registers: [this.registry],
    }).set(pool.options.max);
    const waiting: Gauge = new Gauge({
      name: 'db_client_connection_pending_requests',
      help: 'Requests that wait for a connection of the pool',
      registers: [this.registry],
      collect: () => {
        waiting.set(pool.waitingCount);
      },
    });
    new Gauge({
      name: 'pets_database_queue_size',
      help: 'Requests that may wait for a connection of the pool',
      registers: [this.registry],
    }).set(pool.maxWaiting);
    this.counter(
      'pets_database_queue_rejected_total',
      'Requests that got 503 because the queue for a connection of the pool was full',
      [],
      (counter) => counter.inc(pool.rejected),
    );
  }

  /** A counter that is kept elsewhere and read at each scrape. */
  private counter(
    name: string,
    help: string,
    labelNames: string[],
    read: (counter: Counter) => void,
  ): void {
    const counter = new Counter({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect: () => {
        counter.reset();
        read(counter);
      },
    });
  }
}
