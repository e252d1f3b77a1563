// @ts-check
// The product of the platform's tests, in reports/product: a copy of the build that has the store of test/harness/features/store
// instead of AppModule. So the tests of the platform do not depend on the features of a team.
import { copyFileSync, cpSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../scripts/build-if-stale.mjs';
import { compileFeatures } from '../features/compile.mjs';

export const PRODUCT_FOLDER = join(ROOT, 'reports', 'product');

/** Creates the product, with the compiled features of tests and examples. */
export function createProduct() {
  const dist = join(PRODUCT_FOLDER, 'dist');
  rmSync(PRODUCT_FOLDER, { recursive: true, force: true });
  cpSync(join(ROOT, 'dist'), dist, { recursive: true });
  // `#platform` and `#dist` lead to this copy.
  copyFileSync(join(ROOT, 'package.json'), join(PRODUCT_FOLDER, 'package.json'));
  copyFileSync(
    new URL('./service-host.mjs', import.meta.url),
    join(PRODUCT_FOLDER, 'service-host.mjs'),
  );
  compileFeatures(PRODUCT_FOLDER);
  cpSync(join(PRODUCT_FOLDER, 'features/store'), join(dist, 'store'), { recursive: true });
  renameSync(join(dist, 'app.module.js'), join(dist, 'team.module.js'));
  writeFileSync(
    join(dist, 'app.module.js'),
    "export { StoreModule as AppModule } from './store/store.module.js';\n",
  );
}
