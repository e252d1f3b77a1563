// The service with features that never end.
import { Controller, Module, type OnModuleDestroy, Sse } from '@nestjs/common';
import { NEVER } from 'rxjs';
import { AppModule } from '../../../src/app.module.js';
import { runProcess } from '../../../src/platform/process/lifecycle.js';
import { PRODUCT } from '../../../src/product.js';

class NeverDestroyed implements OnModuleDestroy {
  onModuleDestroy(): Promise<void> {
    return new Promise(() => undefined);
  }
}

@Controller('stream')
class StreamController {
  @Sse()
  open() {
    return NEVER;
  }
}

@Module({
  imports: [AppModule],
  controllers: [StreamController],
  providers: [NeverDestroyed],
})
class Root {}

await runProcess(PRODUCT, () => Promise.resolve(Root));
