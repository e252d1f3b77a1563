import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiSchema, getSchemaPath } from '@nestjs/swagger';
import { MAX_PAGE_SIZE } from '../../paging/page-query.dto.js';
import { headersOn } from '../../request/headers.js';

/** Describes the schema of a DTO class. `@ApiProperty()` describes its properties. */
export function ApiModel(options: {
  description: string;
  example: object;
  additionalProperties?: boolean;
}): ClassDecorator {
  return ApiSchema(options);
}

/** Describes the response of an operation that returns a Page. `name` is that of its schema. */
export function ApiPage(
  item: Type,
  { name, ...texts }: { name: string; description: string; example: readonly object[] },
): MethodDecorator {
  const items = { $ref: getSchemaPath(item) };
  // @nestjs/swagger describes a class as an object. This replaces its properties with items.
  const array = { type: 'array', items, maxItems: MAX_PAGE_SIZE, properties: undefined };
  class PageOfItems extends Array<unknown> {}
  ApiSchema({ name, ...texts, ...array })(PageOfItems);
  return applyDecorators(
    ApiExtraModels(item),
    ApiOkResponse({ ...texts, type: PageOfItems, headers: headersOn('page') }),
  );
}
