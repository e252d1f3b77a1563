// @ts-check
// Routes of a feature. The decorators are applied by hand, because this file is JavaScript.
import { Controller, Get } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { Public } from '#dist/platform/access/public.decorator.js';
import { decorate, feature } from './decorate.mjs';

class UncountedController {
  skipped() {
    return {};
  }
  counted() {
    return {};
  }
}
decorate(UncountedController, 'skipped', Get('skipped'), SkipThrottle());
decorate(UncountedController, 'counted', Get('counted'), SkipThrottle({ default: false }));

class PlainController {
  skipped() {
    return {};
  }
  counted() {
    return {};
  }
  open() {
    return {};
  }
  free() {
    return {};
  }
  limited() {
    return {};
  }
}
decorate(PlainController, 'skipped', Get('skipped'), SkipThrottle());
decorate(PlainController, 'counted', Get('counted'));
decorate(PlainController, 'open', Get('open'), Public());
decorate(PlainController, 'free', Get('free'), Public(), SkipThrottle());
decorate(
  PlainController,
  'limited',
  Get('limited'),
  Public(),
  Throttle({ default: { limit: 1, ttl: 60_000 } }),
);

class OpenController {
  open() {
    return {};
  }
}
decorate(OpenController, 'open', Get('open'));

Controller({ path: 'uncounted', version: '1' })(UncountedController);
SkipThrottle()(UncountedController);
Controller({ path: 'plain', version: '1' })(PlainController);
Controller({ path: 'open', version: '1' })(OpenController);
Public()(OpenController);

export default [feature({ controllers: [UncountedController, PlainController, OpenController] })];
