// @ts-check
/** After all tests: stops what global-setup.mjs started. */
export default async function globalTeardown() {
  for (const host of globalThis.serviceHosts ?? []) host.stdin?.end();
  await globalThis.stopDatabaseServer?.();
}
