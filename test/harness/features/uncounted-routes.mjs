// @ts-check
// Routes of a feature. The decorators are applied by hand, because this file is JavaScript.
import { Controller, Get, Module } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { Public } from '#dist/platform/access/public.decorator.js';

class UncountedController {
  skipped() {
    return {};
  }
  counted() {
    return {};
  }
}
route(UncountedController, 'skipped', SkipThrottle());
route(UncountedController, 'counted', SkipThrottle({ default: false }));

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
route(PlainController, 'skipped', SkipThrottle());
route(PlainController, 'counted');
route(PlainController, 'open', Public());
route(PlainController, 'free', Public(), SkipThrottle());
route(PlainController, 'limited', Public(), Throttle({ default: { limit: 1, ttl: 60_000 } }));

class OpenController {
  open() {
    return {};
  }
}
route(OpenController, 'open');

Controller({ path: 'uncounted', version: '1' })(UncountedController);
SkipThrottle()(UncountedController);
Controller({ path: 'plain', version: '1' })(PlainController);
Controller({ path: 'open', version: '1' })(OpenController);
Public()(OpenController);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- a module, decorated by hand
class RoutesModule {}
Module({ controllers: [UncountedController, PlainController, OpenController] })(RoutesModule);

export default [RoutesModule];

/**
 * @param {Function} controller
 * @param {string} name
 * @param {...MethodDecorator} decorators
 */
function route(controller, name, ...decorators) {
  const descriptor = /** @type {PropertyDescriptor} */ (
    Object.getOwnPropertyDescriptor(controller.prototype, name)
  );
  for (const decorate of [...decorators, Get(name)])
    decorate(controller.prototype, name, descriptor);
}
