import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import type { Request, Response } from './request.js';

// What `switchToHttp()` hands out, without the three functions that it makes at every call.

/** Returns the request that is being worked on. */
export function requestOf(host: ArgumentsHost): Request {
  return host.getArgByIndex<Request>(0);
}

/** Returns the answer to it. */
export function responseOf(host: ArgumentsHost): Response {
  return host.getArgByIndex<Response>(1);
}

/**
 * Takes what reads a route's decorators and returns the same, read once a route: metadata is looked for along
 * prototypes, at every request by several guards.
 *
 * @param read depends on the handler and its controller alone
 */
export function perRoute<Value>(
  read: (context: ExecutionContext) => Value,
): (context: ExecutionContext) => Value {
  // By controller first: those that inherit a handler may be decorated in another way.
  const known = new WeakMap<object, WeakMap<object, { value: Value }>>();
  return (context) => {
    const controller = context.getClass();
    const handler = context.getHandler();
    let routes = known.get(controller);
    if (!routes) known.set(controller, (routes = new WeakMap()));
    let route = routes.get(handler);
    if (!route) routes.set(handler, (route = { value: read(context) }));
    return route.value;
  };
}
