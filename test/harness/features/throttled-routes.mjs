// @ts-check
// Routes with a limit of their own. The decorators are applied by hand, because this is JavaScript.
import { Controller, Get, Module } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';

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
route(ReportsController, 'monthly');
route(ReportsController, 'yearly');
route(ReportsController, 'often', Throttle({ default: { limit: 4, ttl: 60_000 } }));
route(ReportsController, 'skipped', SkipThrottle());
Controller({ path: 'reports', version: '1' })(ReportsController);
Throttle({ default: { limit: 2, ttl: 10_000 } })(ReportsController);

class FreeController {
  read() {
    return {};
  }
}
route(FreeController, 'read');
Controller({ path: 'free', version: '1' })(FreeController);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- a module, decorated by hand
class ReportsModule {}
Module({ controllers: [ReportsController, FreeController] })(ReportsModule);

export default [ReportsModule];

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
