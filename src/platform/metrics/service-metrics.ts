import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { routeOf } from '../http/request/request-context.js';
import type { Request, Response } from '../http/request/request.js';
import { observeDuration } from '../tracing/durations.js';

const DURATION_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

/** Redis responds within a fraction of a millisecond. */
const OPERATION_BUCKETS_SECONDS = [0.0001, 0.00025, 0.0005, ...DURATION_BUCKETS_SECONDS];

/** Callers can invent methods. As OpenTelemetry specifies, all others share one label. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A value or, by the values of the labels, several. A space separates the values of two labels. */
type Values = number | Record<string, number>;

/** The metrics of this process. A label never holds an owner, an API key or a raw path. */
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

  /** The histograms by method, status and route: finding one here is cheaper than by its labels. */
  private readonly series = new Map<string, Histogram.Internal<string>>();

  private readonly deprecatedRequests = new Counter({
    name: 'pets_deprecated_requests_total',
    help: 'Authenticated requests to deprecated operations',
    labelNames: ['http_route'],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    const operations = new Histogram({
      name: 'db_client_operation_duration_seconds',
      help: 'Time from sending statements to PostgreSQL (one, or a batch of up to eight) or a command to Redis to its response, without the wait for a connection of the pool. Commands to Redis that failed are not included',
      labelNames: ['db_system_name'],
      buckets: OPERATION_BUCKETS_SECONDS,
      registers: [this.registry],
    });
    for (const system of ['postgresql', 'redis'] as const) {
      const series = operations.labels(system);
      observeDuration[system] = (seconds) => series.observe(seconds);
    }
  }

  observeResponse(request: Request, response: Response, durationMs: number): void {
    const method = METHODS.has(request.method) ? request.method : '_OTHER';
    const route = routeOf(request);
    const key = `${method} ${response.statusCode} ${route}`;
    let series = this.series.get(key);
    if (!series) {
      series = this.requests.labels(method, route, String(response.statusCode));
      this.series.set(key, series);
    }
    series.observe(durationMs / 1000);
    if (response.hasHeader('deprecation')) this.deprecatedRequests.labels(route).inc();
  }

  /** Registers the metrics of the process. @param version of the service */
  observeProcess(version: string, log: { droppedLines(): number }): void {
    this.gauge(
      'pets_build_info',
      'Always 1. The labels are the versions of the service and of Node.js',
      () => ({ [`${version} ${process.version}`]: 1 }),
      ['version', 'node'],
    );
    this.counter(
      'pets_log_lines_dropped_total',
      'Log lines that were dropped because standard output could not be written and the buffer was full',
      () => log.droppedLines(),
    );
  }

  /** Registers a metric whose values are kept elsewhere. @param read called at each scrape */
  gauge(
    name: string,
    help: string,
    read: () => Values | Promise<Values>,
    labelNames: string[] = [],
  ): void {
    const collect = async (): Promise<void> => {
      const values = await read();
      gauge.reset();
      for (const [labels, value] of series(values)) gauge.labels(...labels).set(value);
    };
    const gauge = new Gauge({ name, help, labelNames, registers: [this.registry], collect });
  }

  /** Registers a metric whose values are kept elsewhere. @param read called at each scrape */
  counter(name: string, help: string, read: () => Values, labelNames: string[] = []): void {
    const collect = (): void => {
      counter.reset();
      for (const [labels, value] of series(read())) counter.labels(...labels).inc(value);
    };
    const counter = new Counter({ name, help, labelNames, registers: [this.registry], collect });
  }
}

function series(values: Values): [labels: string[], value: number][] {
  if (typeof values === 'number') return [[[], values]];
  return Object.entries(values).map(([labels, value]) => [labels.split(' '), value]);
}
