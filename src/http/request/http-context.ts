import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import type { Request, Response } from './request.js';

/** Returns the current request. */
export function requestOf(host: ArgumentsHost): Request {
  return host.switchToHttp().getRequest<Request>();
}

/** Returns the response to the current request. */
export function responseOf(host: ArgumentsHost): Response {
  return host.switchToHttp().getResponse<Response>();
}

/**
 * Returns a function that calls `read` once per route and then returns the cached value. Several
 * guards read the decorators of a route on every request.
 *
 * @param read depends only on the handler and its controller
 */
export function perRoute<Value>(
  read: (context: ExecutionContext) => Value,
): (context: ExecutionContext) => Value {
  // By controller first, because controllers that inherit a handler may have other decorators.
  const cache = new WeakMap<object, WeakMap<object, { value: Value }>>();
  return (context) => {
    const controller = context.getClass();
    const handler = context.getHandler();
    let routes = cache.get(controller);
    if (!routes) cache.set(controller, (routes = new WeakMap()));
    let route = routes.get(handler);
    if (!route) routes.set(handler, (route = { value: read(context) }));
    return route.value;
  };
}
