import { Injectable, type Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { IsPublic } from './access/public.decorator.js';
import type { Request } from './http/request/request.js';
import type { RouteLayer } from './http/routing/unmatched.controller.js';

const IS_PUBLIC = Symbol('public');

/** Recognizes requests to `@Public()` routes before the router does. */
@Injectable()
export class PublicRoutes {
  /** NestJS copies the metadata of a handler to the function that it registers with Express. */
  constructor(discovery: DiscoveryService, reflector: Reflector) {
    for (const { metatype } of discovery.getControllers()) {
      const controller = metatype as Type;
      const prototype = controller.prototype as Record<string, () => unknown>;
      for (const name of new MetadataScanner().getAllMethodNames(prototype)) {
        const handler = prototype[name];
        if (!handler || !reflector.getAllAndOverride(IsPublic, [handler, controller])) continue;
        Reflect.defineMetadata(IS_PUBLIC, true, handler);
      }
    }
  }

  matches(request: Request): boolean {
    const { stack } = request.app.router as unknown as { stack: RouteLayer[] };
    return stack.some((layer) => {
      const handle = layer.route?.stack[0]?.handle;
      return handle && Reflect.hasMetadata(IS_PUBLIC, handle) && layer.match(request.path);
    });
  }
}
