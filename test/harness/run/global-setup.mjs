// @ts-check
import { buildIfStaleOrExit } from '../../../scripts/build-if-stale.mjs';
import { createProduct } from './product.mjs';

/**
 * Builds the service if its sources have changed, creates the product of the tests, and starts what all tests use.
 *
 * @param {{ maxWorkers: number }} config
 */
export default async function globalSetup(config) {
  buildIfStaleOrExit();
  createProduct();
  // Only now, because it imports the build.
  const { startServices } = await import('./services.mjs');
  await startServices(config);
}
