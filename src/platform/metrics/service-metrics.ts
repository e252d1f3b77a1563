import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, register, Registry } from 'prom-client';
import { Settings } from '../config/settings.js';
import type { Build } from '../config/version.js';

/** A value or, by the values of the first label, those of the next ones. */
type Values = number | { readonly [label: string]: Values };
type Read = () => Values | Promise<Values>;

/**
 * The metrics of the service, which their owners register. A label never holds an owner, an API key or a
 * raw path.
 */
@Injectable()
export class ServiceMetrics {
  /** A registry for each application, because the tests run several in one process. */
  readonly registry = new Registry();

  constructor(private readonly settings: Settings) {}

  /** Registers the metrics of the process. */
  observeProcess(droppedLines: () => number, { version, commit, commitDate }: Build): void {
    collectDefaultMetrics();
    this.add(
      'build_info',
      'Always 1. The labels are the versions of the service and of Node.js, the commit and its date',
      () => ({ [version]: { [process.version]: { [commit]: { [commitDate]: 1 } } } }),
      ['version', 'node', 'commit', 'commit_date'],
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
