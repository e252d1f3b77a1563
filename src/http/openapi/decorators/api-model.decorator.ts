import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiSchema, getSchemaPath } from '@nestjs/swagger';

interface ModelOptions {
  /** The schema's name, where it is not the class's. */
  name?: string;
  description: string;
  /** A whole object, as it is sent. */
  example: Readonly<Record<string, unknown>>;
  /** false: no members but those of the class. */
  additionalProperties?: boolean;
}

/** Describes the schema of a DTO class as a whole; its members are described by `@ApiProperty()`. */
export function ApiModel(options: ModelOptions): ClassDecorator {
  return ApiSchema(options);
}

interface ListOptions {
  description: string;
  maxItems: number;
  example: readonly Readonly<Record<string, unknown>>[];
}

/** Makes a class the name of a JSON array of models, to be used as the `type` of a response. */
export function ApiList(item: Type, options: ListOptions): ClassDecorator {
  const items = { $ref: getSchemaPath(item) };
  // A class is described as an object with properties: this puts an array in their place.
  const schema = { ...options, type: 'array', items, properties: undefined };
  return applyDecorators(ApiExtraModels(item), ApiSchema(schema));
}
