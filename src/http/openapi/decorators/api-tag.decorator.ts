import { ApiExtension } from '@nestjs/swagger';

export interface Tag {
  name: string;
  description: string;
}

/** Passes the tag to the interface description, which does not publish this extension. */
export const TAG = 'x-tag';

/** Lists an operation under a tag. Unlike `@ApiTags()`, it describes the tag. */
export function ApiTag(tag: Tag): MethodDecorator {
  return ApiExtension(TAG, tag);
}
