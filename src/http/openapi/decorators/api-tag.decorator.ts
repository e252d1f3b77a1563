import { ApiExtension } from '@nestjs/swagger';

/** Under which an operation is listed. */
export interface Tag {
  name: string;
  description: string;
}

/** Where a tag stands in an operation until the description is put together. */
export const TAG = 'x-tag';

/** Lists an operation under a tag, whose description it also gives. */
export function ApiTag(tag: Tag): MethodDecorator {
  return ApiExtension(TAG, tag);
}
