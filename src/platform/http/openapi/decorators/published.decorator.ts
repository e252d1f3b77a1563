import { SetMetadata, type Type } from '@nestjs/common';

const PUBLISHED = 'published';

/** Marks a controller of `openapi.yaml`, which no APP_INTERCEPTOR or APP_FILTER may change. */
export const Published = (): ClassDecorator => SetMetadata(PUBLISHED, true);

/** Returns whether a controller is `@Published()`. */
export const isPublished = (controller: Type): boolean =>
  Reflect.hasMetadata(PUBLISHED, controller);
