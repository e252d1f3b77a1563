// @ts-check
import { buildIfStaleOrExit } from '../../../scripts/build-if-stale.mjs';
import { compileFeatures } from '../features/compile.mjs';

/**
 * Builds the service if its sources have changed, compiles the features of tests, and starts what all tests use.
 *
 * @param {{ maxWorkers: number }} config
 */
export default async function globalSetup(config) {
  buildIfStaleOrExit();
  compileFeatures();
  // Only now, because it imports the build.
  const { startServices } = await import('./services.mjs');
  await startServices(config);
}
