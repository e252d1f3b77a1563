import type { Type } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { headersOn } from '../../request/headers.js';

/** The schema of a 64-bit integer, for `@ApiProperty()` and `@ApiParam()`. */
export const INT64 = { type: 'integer', format: 'int64', example: 1 } as const;

/** Describes the response of an operation that returns a Page. */
export function ApiPage(item: Type, description: string): MethodDecorator {
  return ApiOkResponse({ type: [item], description, headers: headersOn('page') });
}
