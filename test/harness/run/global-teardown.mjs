// @ts-check
import { once } from 'node:events';

/** After all tests: stops what global-setup.mjs started. Jest would report a process that ends later. */
export default async function globalTeardown() {
  const hosts = globalThis.serviceHosts ?? [];
  const running = hosts.filter(({ exitCode }) => exitCode === null);
  const ended = running.map((host) => once(host, 'close'));
  for (const host of hosts) host.stdin?.end();
  await Promise.all(ended);
  await globalThis.stopDatabaseServer?.();
}
