import { type ExecutionContext, SetMetadata } from '@nestjs/common';

const PUBLIC = 'public';

/** Opens a route or a controller to everybody: no key is asked for and nothing is counted. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(PUBLIC, true);

/** Whether the route that is being asked for, or its controller, is `@Public()`. */
export function isPublic(context: ExecutionContext): boolean {
  return (
    Reflect.hasMetadata(PUBLIC, context.getHandler()) ||
    Reflect.hasMetadata(PUBLIC, context.getClass())
  );
}
