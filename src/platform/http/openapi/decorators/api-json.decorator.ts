import { ApiBody, ApiParam, ApiProperty } from '@nestjs/swagger';
import { MAX_BODY_BYTES } from '../../../config/bounds.js';
import type { Type } from '@nestjs/common';

const INT64 = { type: 'integer', format: 'int64' } as const;

/** Describes a DTO property that is a 64-bit integer. `@IsInt64()` validates it. */
export function ApiInt64(description: string): PropertyDecorator {
  return ApiProperty({ ...INT64, description, example: 1 });
}

/** Describes a path parameter that is a 64-bit integer. */
export function ApiInt64Param(name: string, description: string): MethodDecorator {
  return ApiParam({ name, description, schema: { ...INT64, example: 1 } });
}

/** Describes a JSON body, optionally with named examples. */
export function ApiJsonBody(
  type: Type,
  description: string,
  examples?: Record<string, { summary: string; value: object }>,
): MethodDecorator {
  return ApiBody({
    type,
    required: true,
    description: `${description} At most ${MAX_BODY_BYTES.toLocaleString('en-US')} bytes, not compressed.`,
    ...(examples && { examples }),
  });
}
