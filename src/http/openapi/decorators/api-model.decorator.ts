import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiSchema, getSchemaPath } from '@nestjs/swagger';
import { responseHeaders } from '../description/headers.js';

type Example = Readonly<Record<string, unknown>>;

interface ModelOptions {
  /** The name of the schema, if it differs from the name of the class. */
  name?: string;
  description: string;
  /** A complete object. */
  example: Example;
  /** Whether an object can have properties that the class does not have. */
  additionalProperties?: boolean;
}

/** Describes the schema of a DTO class. `@ApiProperty()` describes its properties. */
export function ApiModel(options: ModelOptions): ClassDecorator {
  return ApiSchema(options);
}

/** Describes a class as a JSON array of models, for the `type` of a response. */
export function ApiList(
  item: Type,
  options: { description: string; maxItems: number; example: readonly Example[] },
): ClassDecorator {
  const items = { $ref: getSchemaPath(item) };
  // @nestjs/swagger describes a class as an object. This replaces its properties with items.
  const schema = { ...options, type: 'array', items, properties: undefined };
  return applyDecorators(ApiExtraModels(item), ApiSchema(schema));
}

/** Describes the response of an operation that returns a Page. The type has `@ApiList()`. */
export function ApiPage(options: {
  type: Type;
  description: string;
  example: readonly Example[];
}): MethodDecorator {
  return ApiOkResponse({ ...options, headers: responseHeaders('NextPageLink') });
}
