import { send } from '../http/client.js';
import type { BuiltService } from './service.js';

const PATIENCE_MS = 25_000;
const POLL_MS = 50;

/**
 * Returns the value of a series of a service that was started with METRICS_PORT=0; 0 when there is
 * none.
 */
export async function metric(service: BuiltService, series: string): Promise<number> {
  const url = String(service.logs().find(({ msg }) => msg === 'listening')?.['metrics']);
  const { text } = await send({ url }, '/metrics');
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}

/**
 * Waits until a series has a value that the condition holds for.
 *
 * @throws Error when it never does
 */
export async function untilMetric(
  service: BuiltService,
  series: string,
  condition: (value: number) => boolean,
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const value = await metric(service, series);
    if (condition(value)) return;
    if (performance.now() > deadline) throw new Error(`${series} stays at ${value}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
