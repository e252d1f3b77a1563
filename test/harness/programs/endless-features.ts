// The service with a feature that fails in the way that FEATURE says.
import { Module, type OnModuleDestroy } from '@nestjs/common';
import { AppModule } from '../../../src/app.module.js';
import { runProcess } from '../../../src/platform/process.js';
import { PRODUCT } from '../../../src/product.js';

class NeverDestroyed implements OnModuleDestroy {
  onModuleDestroy(): Promise<void> {
    return new Promise(() => undefined);
  }
}

@Module({ imports: [AppModule], providers: [NeverDestroyed] })
class Root {}

await runProcess(PRODUCT, () =>
  process.env['FEATURE'] === 'not loaded'
    ? Promise.reject(new Error('The feature is broken.'))
    : Promise.resolve(Root),
);
