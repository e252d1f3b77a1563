// @ts-check
export default async function globalTeardown() {
  await globalThis.stopDatabaseServer?.();
}
