// @ts-check
import { createProduct } from './product.mjs';
import { startServices } from './services.mjs';

/**
 * Compiles the service, and starts what all tests use.
 *
 * @param {{ maxWorkers: number, testPathPatterns: { patterns: string[] } }} config
 */
export default async function globalSetup({ maxWorkers, testPathPatterns: { patterns } }) {
  // Unit tests in src use neither the build nor a database.
  if (patterns.length > 0 && patterns.every((path) => /^src\/|\.spec\.ts$/.test(path))) return;
  const isOneFile = patterns.length === 1 && patterns[0]?.endsWith('.test.ts');
  await startServices(await createProduct(), isOneFile ? 1 : maxWorkers);
}
