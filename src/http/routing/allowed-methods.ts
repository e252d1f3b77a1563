import type { IRoute } from 'express';
import type { Request } from '../request/request.js';

/** A layer of the router's stack, as far as it is read here. */
interface RouteLayer {
  route?: IRoute & { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/**
 * Returns the methods that routes other than the request's own serve at its path, HEAD and OPTIONS included, for
 * `Allow` (RFC 9110, 10.2.1); none when no route is there. Asks Express's own routes, so that
 * whatever a module registers is told right.
 */
export function allowedMethods(request: Request): string[] {
  const { stack } = request.app.router as unknown as { stack: RouteLayer[] };
  const methods = new Set<string>();
  for (const layer of stack) {
    // The catch-all that asks is a route of its own, for all methods.
    if (!layer.route || layer.route === request.route || !layer.match(request.path)) continue;
    for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.size === 0) return [];
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods.add('OPTIONS')];
}
