// @ts-check
// Routes that wait for something other than the database.
import { Controller, Get, Res, ServiceUnavailableException } from '@nestjs/common';
import { decorate, feature } from './decorate.mjs';

const NEVER = new Promise(() => undefined);

class SlowController {
  slow() {
    return NEVER;
  }
  forgotten() {
    return undefined;
  }
  upstream() {
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  }
  payments() {
    throw new ServiceUnavailableException('The payment provider is unavailable.');
  }
}
decorate(SlowController, 'slow', Get('slow'));
decorate(SlowController, 'forgotten', Get('forgotten'));
Res()(SlowController.prototype, 'forgotten', 0);
decorate(SlowController, 'upstream', Get('upstream'));
decorate(SlowController, 'payments', Get('payments'));
Controller({ path: 'slow', version: '1' })(SlowController);

export default [feature({ controllers: [SlowController] })];
