import { Counter, Gauge, type Registry } from 'prom-client';

/** The values of the labels, and the value of the metric. */
type Sample = readonly [...labels: string[], value: number];

/** Registers metrics whose values are kept elsewhere. The functions are called at each scrape. */
export class ObservedMetrics {
  constructor(private readonly registry: Registry) {}

  gauge(name: string, help: string, read: () => number): void {
    this.gauges(name, help, [], () => [[read()]]);
  }

  gauges(name: string, help: string, labelNames: string[], read: () => Iterable<Sample>): void {
    const collect = (): void => {
      for (const sample of read()) gauge.labels(...labelsOf(sample)).set(valueOf(sample));
    };
    const gauge = new Gauge({ name, help, labelNames, registers: [this.registry], collect });
  }

  counter(name: string, help: string, read: () => number): void {
    this.counters(name, help, [], () => [[read()]]);
  }

  counters(name: string, help: string, labelNames: string[], read: () => Iterable<Sample>): void {
    const collect = (): void => {
      counter.reset();
      for (const sample of read()) counter.labels(...labelsOf(sample)).inc(valueOf(sample));
    };
    const counter = new Counter({ name, help, labelNames, registers: [this.registry], collect });
  }
}

function labelsOf(sample: Sample): string[] {
  return sample.slice(0, -1) as string[];
}

function valueOf(sample: Sample): number {
  return sample.at(-1) as number;
}
