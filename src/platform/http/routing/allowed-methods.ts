import { PATH_METADATA } from '@nestjs/common/internal';
import type { IRoute } from 'express';
import { EVERY_PATH } from '../request/request-context.js';
import type { Request } from '../request/request.js';

/** The properties of an Express router layer that this file reads. */
export interface RouteLayer {
  route?: IRoute & { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/**
 * Returns the methods of all routes at the request's path for `Allow` (RFC 9110, section 10.2.1).
 * Empty when no route matches. It reads the router of Express, which has the routes of all modules.
 */
export function allowedMethods(request: Request): string[] {
  const { stack } = request.app.router as unknown as { stack: RouteLayer[] };
  const methods = new Set<string>();
  for (const layer of stack) {
    const { path, methods: served = {}, stack: [first] = [] } = layer.route ?? {};
    // NestJS copies the metadata of a handler. Middleware of a feature has none.
    const isRoute =
      first && path !== EVERY_PATH && Reflect.hasMetadata(PATH_METADATA, first.handle);
    if (!isRoute || !layer.match(request.path)) continue;
    for (const method of Object.keys(served)) methods.add(method.toUpperCase());
  }
  if (methods.size === 0) return [];
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods.add('OPTIONS')];
}
