import type { IRoute } from 'express';
import { EVERY_PATH } from '../request/request-context.js';
import type { Request } from '../request/request.js';

/** The properties of an Express router layer that this file reads. */
export interface RouteLayer {
  route?: IRoute & { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** The Express routes of middleware that a feature applies with `configure(consumer)`. */
export const middlewareRoutes = new WeakSet<object>();

/**
 * Returns the methods of all routes at the request's path for `Allow` (RFC 9110, section 10.2.1).
 * Empty when no route matches. It reads the router of Express, which has the routes of all modules.
 */
export function allowedMethods(request: Request): string[] {
  const { stack } = request.app.router as unknown as { stack: RouteLayer[] };
  const methods = new Set<string>();
  for (const layer of stack) {
    if (!layer.route || middlewareRoutes.has(layer.route)) continue;
    // The catch-all route. Packages mount their paths after it.
    if (layer.route.path === EVERY_PATH) break;
    if (!layer.match(request.path)) continue;
    for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.size === 0) return [];
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods.add('OPTIONS')];
}
