// @ts-check
// A provider whose initialization never ends in the step that TEST_WAITS_IN names.
import { Logger } from '@nestjs/common';
import { feature } from './decorate.mjs';

const logger = new Logger('Waiting');

/** @param {string} step */
function waitIn(step) {
  if (process.env['TEST_WAITS_IN'] !== step) return Promise.resolve({});
  logger.log('waiting');
  return new Promise(() => undefined);
}

class Waiting {
  onModuleInit() {
    return waitIn('onModuleInit');
  }
  /** @param {string} [signal] */
  beforeApplicationShutdown(signal) {
    logger.log(`closing after ${signal}`);
  }
}

const connection = { provide: 'CONNECTION', useFactory: () => waitIn('useFactory') };

export default [feature({ providers: [Waiting, connection] })];
