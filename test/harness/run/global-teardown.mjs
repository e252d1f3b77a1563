// @ts-check
export default async function globalTeardown() {
  for (const host of globalThis.serviceHosts ?? []) host.stdin?.end();
  await globalThis.stopDatabaseServer?.();
}
