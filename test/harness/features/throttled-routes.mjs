// @ts-check
// Routes with a limit of their own. The decorators are applied by hand, because this is JavaScript.
import { Controller, Get } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { decorate, feature } from './decorate.mjs';

class ReportsController {
  /** @returns {object} */
  monthly() {
    return {};
  }
  yearly() {
    return {};
  }
  often() {
    return {};
  }
  skipped() {
    return {};
  }
}
decorate(ReportsController, 'monthly', Get('monthly'));
decorate(ReportsController, 'yearly', Get('yearly'));
decorate(
  ReportsController,
  'often',
  Get('often'),
  Throttle({ default: { limit: 4, ttl: 60_000 } }),
);
decorate(ReportsController, 'skipped', Get('skipped'), SkipThrottle());
Controller({ path: 'reports', version: '1' })(ReportsController);
Throttle({ default: { limit: 2, ttl: 10_000 } })(ReportsController);

class FreeController {
  read() {
    return {};
  }
}
decorate(FreeController, 'read', Get('read'));
Controller({ path: 'free', version: '1' })(FreeController);

export default [feature({ controllers: [ReportsController, FreeController] })];
