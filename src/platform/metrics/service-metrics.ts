import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, register, Registry } from 'prom-client';
import { KeyCache } from '../access/key-cache/key-cache.js';
import { BoundedPool } from '../database/pools/bounded-pool.js';
import { EventDelivery } from '../events/event-delivery.js';
import { Readiness } from '../health/readiness.js';
import { Settings } from '../config/settings.js';
import type { Request } from '../http/request/request.js';
import { LimitStorage } from '../rate-limit/limit-storage.js';

/** Callers can invent methods. As OpenTelemetry specifies, all others share one label. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A value or, by the values of the first label, those of the next ones. */
type Values = number | { readonly [label: string]: Values };
type Read = () => Values | Promise<Values>;

/** The metrics of the service. A label never holds an owner, an API key or a raw path. */
@Injectable()
export class ServiceMetrics {
  /** Not the default registry, because the tests run several applications in one process. */
  private readonly registry = new Registry();

  private readonly requests = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time from the end of a request head to the end of its response',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  });

  constructor(
    readiness: Readiness,
    pool: BoundedPool,
    { attempts }: EventDelivery,
    { statistics: keys }: KeyCache,
    { circuit }: LimitStorage,
    private readonly settings: Settings,
  ) {
    this.add('ready', '1 while this replica is ready for requests, else 0', async () =>
      Number((await readiness.report()).status !== 'unavailable'),
    );
    this.add(
      'component_up',
      '1 while a component of the service responds, or the database accepts writes, else 0',
      async () => {
        const { shutdown: _, ...states } = (await readiness.report()).checks;
        const values = Object.entries(states).map(([name, state]) => [name, +(state !== 'down')]);
        const { database } = states;
        return {
          ...(Object.fromEntries(values) as Record<string, number>),
          ...(database && { database_writes: Number(database === 'up') }),
        };
      },
      ['component'],
    );
    this.add(
      'event_attempts_total',
      'Attempts to handle an event, by outcome. A parked event has failed in all its attempts',
      () => attempts,
      ['outcome'],
    );
    this.add(
      'db_client_connection_count',
      'Connections of the pool, by state',
      () => ({ idle: pool.idleCount, used: pool.totalCount - pool.idleCount }),
      ['state'],
    );
    this.add(
      'db_client_connection_pending_requests',
      'Uses of the pool that wait for a connection: a batch of up to 32 statements, a query or a transaction',
      () => pool.waitingCount,
    );
    this.add(
      'key_lookups_total',
      'Uses of cached API keys, queries for API keys, and uses of stale API keys while the database was unreachable, by source',
      () => ({ cache: keys.hits, database: keys.queries, stale: keys.stale }),
      ['source'],
    );
    if (!circuit) return;
    this.add(
      'redis_circuit_open',
      '1 while this process counts requests itself because Redis cannot be used, else 0',
      () => Number(circuit.isOpen),
    );
    this.add(
      'redis_failures_total',
      'Commands to Redis that failed, including probes, by reason',
      () => circuit.failures,
      ['reason'],
    );
  }

  observeRequest(request: Request, route: string, status: number, durationMs: number): void {
    const method = METHODS.has(request.method) ? request.method : '_OTHER';
    this.requests.labels(method, route, String(status)).observe(durationMs / 1000);
  }

  /** Registers the metrics of the process. @param version of the service */
  observeProcess(version: string, droppedLines: () => number): void {
    collectDefaultMetrics();
    this.add(
      'build_info',
      'Always 1. The labels are the versions of the service and of Node.js',
      () => ({ [version]: { [process.version]: 1 } }),
      ['version', 'node'],
    );
    this.add(
      'log_lines_dropped_total',
      'Log lines that were dropped because standard output could not be written and the buffer was full',
      droppedLines,
    );
  }

  /**
   * Registers a metric whose values are kept elsewhere: a counter if its name ends in `_total`, else a
   * gauge. Calls `read` at each scrape.
   */
  add(name: string, help: string, read: Read, labelNames: string[] = []): void {
    const Metric = name.endsWith('_total') ? Counter : Gauge;
    // The names of OpenTelemetry's conventions have no prefix.
    const fullName = name.startsWith('db_') ? name : this.settings.product.metricsPrefix + name;
    const collect = async (): Promise<void> => setValues(metric, await read());
    const registers = [this.registry];
    const metric = new Metric({ name: fullName, help, labelNames, registers, collect });
  }

  /** Returns all metrics as Prometheus reads them, with those of the default registry of prom-client. */
  async text(): Promise<string> {
    return (await this.registry.metrics()) + (await register.metrics());
  }
}

function setValues(metric: Gauge | Counter, values: Values, labels: readonly string[] = []): void {
  if (labels.length === 0) metric.reset();
  if (typeof values === 'number') metric.labels(...labels).inc(values);
  else
    for (const [label, value] of Object.entries(values))
      setValues(metric, value, [...labels, label]);
}
