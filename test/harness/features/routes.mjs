// @ts-check
// A feature that lists every route of the application that it is part of.
import { Controller, Get, Module, Req } from '@nestjs/common';
import failing from './failing.mjs';

/** @typedef {{ path: string | string[], methods: Record<string, boolean> }} Route */
/** @typedef {{ route?: Route, handle: { stack?: unknown[] } }} Layer */

class RoutesController {
  /** @param {{ app: { router: { stack: Layer[] } } }} request */
  list(request) {
    const { stack } = request.app.router;
    return {
      routes: stack.flatMap(({ route }) =>
        route
          ? [route.path].flat().map((path) => ({ path, methods: Object.keys(route.methods) }))
          : [],
      ),
      // The routes of a router inside of the router are not listed.
      nestedRouters: stack.filter(({ handle }) => handle.stack !== undefined).length,
    };
  }
}
Controller({ path: 'routes', version: '1' })(RoutesController);
const method = /** @type {PropertyDescriptor} */ (
  Object.getOwnPropertyDescriptor(RoutesController.prototype, 'list')
);
Get()(RoutesController.prototype, 'list', method);
Req()(RoutesController.prototype, 'list', 0);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what is decorated below
class RoutesModule {}
Module({ controllers: [RoutesController] })(RoutesModule);

export default [...failing, RoutesModule];
