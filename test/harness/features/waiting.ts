// A provider whose initialization never ends in the step that TEST_WAITS_IN names.
import { Logger, Module, type OnModuleInit } from '@nestjs/common';

const logger = new Logger('Waiting');

async function waitIn(step: string): Promise<void> {
  if (process.env['TEST_WAITS_IN'] !== step) return;
  logger.log('waiting');
  await new Promise(() => undefined);
}

class Waiting implements OnModuleInit {
  onModuleInit() {
    return waitIn('onModuleInit');
  }
}

@Module({
  providers: [Waiting, { provide: 'CONNECTION', useFactory: () => waitIn('useFactory') }],
})
class WaitingFeature {}
export default [WaitingFeature];
