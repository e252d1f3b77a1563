import { SetMetadata, type Type } from '@nestjs/common';

const PUBLISHED = 'published';

/**
 * Marks a controller whose operations are published in `openapi.yaml`. The interceptors, guards, pipes
 * and filters that other modules register as APP_… do not apply to it.
 */
export const Published = (): ClassDecorator => SetMetadata(PUBLISHED, true);

/** Returns whether a controller is `@Published()`. */
export function isPublished(controller: Type): boolean {
  return Reflect.hasMetadata(PUBLISHED, controller);
}
