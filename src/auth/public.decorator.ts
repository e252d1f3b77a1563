import { SetMetadata } from '@nestjs/common';
import { perRoute } from '../http/request/http-context.js';

const PUBLIC = 'public';

/** Opens a route or a controller to everybody: no key is asked for and nothing is counted. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(PUBLIC, true);

/** Whether the route that is being asked for, or its controller, is `@Public()`. */
export const isPublic = perRoute(
  (context) =>
    Reflect.hasMetadata(PUBLIC, context.getHandler()) ||
    Reflect.hasMetadata(PUBLIC, context.getClass()),
);
