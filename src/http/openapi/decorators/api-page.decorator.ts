import type { Type } from '@nestjs/common';
import { ApiOkResponse } from '@nestjs/swagger';
import { responseHeaders } from '../description/response-headers.js';

interface PageOptions {
  /** A class with `@ApiList()`. */
  type: Type;
  description: string;
  example: readonly Readonly<Record<string, unknown>>[];
}

/** Describes the response of an operation that returns a Page. */
export function ApiPage(options: PageOptions): MethodDecorator {
  return ApiOkResponse({ ...options, headers: responseHeaders('NextPageLink') });
}
