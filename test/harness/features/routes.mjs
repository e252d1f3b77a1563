// @ts-check
// A feature that lists every route of the application that it is part of.
import { Controller, Get, Req } from '@nestjs/common';
import failing from './failing.mjs';
import { decorate, feature } from './decorate.mjs';

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
decorate(RoutesController, 'list', Get());
Req()(RoutesController.prototype, 'list', 0);

export default [...failing, feature({ controllers: [RoutesController] })];
