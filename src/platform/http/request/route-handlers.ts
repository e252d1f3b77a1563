import type { Type } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/internal';
import { type DiscoveryService, MetadataScanner } from '@nestjs/core';

/** A method of a controller that handles a route. */
export interface RouteHandler {
  readonly controller: Type;
  readonly name: string;
  /** The function that holds the metadata of the method's decorators. */
  readonly method: object;
  /** Whether a new controller is created for each request, which its providers can read. */
  readonly isRequestScoped: boolean;
}

/** Returns every handler of the application. */
export function routeHandlers(discovery: DiscoveryService): RouteHandler[] {
  const scanner = new MetadataScanner();
  return discovery.getControllers().flatMap((wrapper) => {
    const controller = wrapper.metatype as Type;
    const isRequestScoped = !wrapper.isDependencyTreeStatic();
    const prototype = controller.prototype as Record<string, object>;
    return scanner
      .getAllMethodNames(prototype)
      .map((name) => ({ controller, name, method: prototype[name] ?? {}, isRequestScoped }))
      .filter(({ method }) => Reflect.hasMetadata(PATH_METADATA, method));
  });
}
