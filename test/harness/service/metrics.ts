import { PRODUCT } from '../../../src/product.js';
import { send } from '../http/client.js';
import { closeConnections } from '../http/raw-connection.js';
import { HANG_LIMIT_MS, until } from '../run/until.js';
import type { LogLine } from './output.js';

/** What clients hold. When all have disconnected, these are 0. */
const HELD = [
  'connections',
  'requests_in_progress',
  'arriving_body_bytes',
  'db_client_connection_pending_requests',
];

export interface Measured {
  /** Returns the metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
}

/** Returns the value of a series, named without the prefix of the product; NaN when there is none. */
export async function metric(service: Measured, series: string): Promise<number> {
  return valueOf(await service.metrics(), series);
}

function valueOf(metrics: string, series: string): number {
  const names = [`${series} `, `${PRODUCT.metricsPrefix}${series} `];
  const line = metrics.split('\n').find((line) => names.some((name) => line.startsWith(name)));
  return Number(line?.split(' ').at(-1));
}

/** Returns the metrics at the address that a service has logged. */
export async function scrape(logs: readonly LogLine[]): Promise<string> {
  const url = String(logs.find(({ msg }) => msg === 'listening')?.['metrics']);
  return (await send({ url }, '/metrics')).text;
}

/**
 * Closes the connections of the test to the service. @throws Error when it still holds something
 * afterwards
 */
export async function expectNothingHeld(
  port: number,
  metrics: () => Promise<string>,
): Promise<void> {
  closeConnections(port);
  const holdsNothing = async (): Promise<boolean> => {
    const text = await metrics();
    return HELD.every((series) => valueOf(text, series) === 0);
  };
  await until(holdsNothing, HANG_LIMIT_MS, `${HELD.join(', ')} are 0`);
}

/**
 * Waits until a series has a value that the condition holds for.
 *
 * @throws Error when it never does
 */
export async function untilMetric(
  service: Measured,
  series: string,
  condition: (value: number) => boolean,
): Promise<void> {
  const holds = async (): Promise<boolean> => condition(await metric(service, series));
  await until(holds, HANG_LIMIT_MS, `${series}: ${String(condition)}`);
}
