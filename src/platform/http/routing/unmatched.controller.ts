import { All, Controller, Next, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/internal';
import { Reflector } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { IRoute } from 'express';
import { ServiceError } from '../../errors/service-error.js';
import { EVERY_PATH, exceedsAccess } from '../request/request-context.js';
import type { NextFunction, Request, Response } from '../request/request.js';
import { InterfaceVersions } from './interface-versions.js';

/** Adds a sentence to the 405 for the methods that the path of this handler does not allow. */
export const NotAllowedHint = Reflector.createDecorator<string>();

/**
 * The catch-all route: requests that match no other route pass the guards. NestJS registers it last,
 * because it is the least specific one. If the path has no route, what a package has mounted in
 * `onModuleInit` follows, or else 404.
 */
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class UnmatchedController {
  constructor(private readonly versions: InterfaceVersions) {}

  @All(EVERY_PATH)
  respond(@Req() request: Request, @Res() response: Response, @Next() next: NextFunction): void {
    const { methods, hint } = routesAt(request);
    if (methods.length === 0) {
      if (!exceedsAccess(request)) return next();
      // A handler of a package may do more than read. It does not know the access of an API key.
      if (isMounted(request)) throw new ServiceError('read_only_api_key');
      throw this.versions.routeNotFound();
    }
    const allow = methods.join(', ');
    response.setHeader('Allow', allow);
    if (request.method !== 'OPTIONS') {
      const message = `Method not allowed. Allowed methods: ${allow}. ${hint}`.trim();
      throw new ServiceError('method_not_allowed', message);
    }
    response.status(204).end();
  }
}

/** The properties of an Express router layer that this file reads. */
interface RouteLayer {
  /** It serves every path, as the handler does that sends 404. */
  slash: boolean;
  route?: IRoute & { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** Returns whether a package has mounted something at the request's path. */
function isMounted({ app, path }: Request): boolean {
  const { stack } = app.router as unknown as { stack: RouteLayer[] };
  const routes = stack.findIndex(({ route }) => route?.path === EVERY_PATH);
  return stack.slice(routes + 1).some((layer) => !layer.slash && layer.match(path));
}

/**
 * Returns the methods of all routes at the request's path for `Allow` (RFC 9110, section 10.2.1),
 * empty when no route matches, and their hint. It reads the router of Express, which has the routes
 * of all modules.
 */
function routesAt(request: Request): { methods: string[]; hint: string } {
  const { stack } = request.app.router as unknown as { stack: RouteLayer[] };
  const methods = new Set<string>();
  let hint = '';
  for (const layer of stack) {
    const { path, methods: served = {}, stack: [first] = [] } = layer.route ?? {};
    // NestJS copies the metadata of a handler. Middleware of a feature has none.
    const isRoute =
      first && path !== EVERY_PATH && Reflect.hasMetadata(PATH_METADATA, first.handle);
    if (!isRoute || !layer.match(request.path)) continue;
    for (const method of Object.keys(served)) methods.add(method.toUpperCase());
    hint ||= (Reflect.getMetadata(NotAllowedHint.KEY, first.handle) as string | undefined) ?? '';
  }
  if (methods.has('GET')) methods.add('HEAD');
  if (methods.size > 0) methods.add('OPTIONS');
  return { methods: [...methods], hint };
}
