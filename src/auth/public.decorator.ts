import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiSecurity } from '@nestjs/swagger';
import { perRoute } from '../http/request/request-context.js';

const PUBLIC = 'public';

/** Makes a route or a controller public: it requires no API key, and no request is counted. */
export const Public = (): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(PUBLIC, true), ApiSecurity({}));

/** Whether the route of the request, or its controller, is `@Public()`. */
export const isPublic = perRoute((context) =>
  isPublicHandler(context.getClass(), context.getHandler()),
);

/** Whether a handler, or its controller, is `@Public()`. */
export function isPublicHandler(controller: object, handler: object): boolean {
  return Reflect.hasMetadata(PUBLIC, handler) || Reflect.hasMetadata(PUBLIC, controller);
}
