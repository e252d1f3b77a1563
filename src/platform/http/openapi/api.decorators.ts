import { applyDecorators, type Type } from '@nestjs/common';
import { ApiOkResponse, ApiResponse } from '@nestjs/swagger';
import { ERRORS, type ErrorCode, type FeatureError } from '../../errors/catalogue.js';
import { headersOn } from '../request/headers.js';

/**
 * Describes the errors that an operation itself sends: errors that the feature declares, or messages
 * of codes of the catalogue. The errors of the guards and of the server need no decorator.
 */
export function ApiErrors(
  ...errors: readonly (ErrorCode | FeatureError | Partial<Record<ErrorCode, string>>)[]
): MethodDecorator {
  const declared = errors.flatMap((error) => {
    if (typeof error === 'string') return [errorExample(error)];
    if ('when' in error) return [{ code: error.code, message: error.when, status: error.status }];
    return Object.entries(error).map(([code, message]) => errorExample(code, message));
  });
  const schema = { $ref: '#/components/schemas/Error' };
  return applyDecorators(
    ...declared.map((value) =>
      ApiResponse({ status: value.status, schema, examples: { [value.code]: { value } as never } }),
    ),
  );
}

/** The body of an error response. */
export type ErrorExample = Omit<FeatureError, 'when'> & { readonly message: string };

/** Returns an example of an Error whose code is in the catalogue. */
export function errorExample(code: string, message?: string): ErrorExample {
  const { status, when } = ERRORS[code as ErrorCode];
  return { code, message: message ?? when, status };
}

/** The schema of a 64-bit integer, for `@ApiProperty()` and `@ApiParam()`. */
export const INT64 = { type: 'integer', format: 'int64', example: 1 } as const;

/** Describes the response of an operation that returns a Page. */
export function ApiPage(item: Type, description: string): MethodDecorator {
  return ApiOkResponse({ type: [item], description, headers: headersOn('page') });
}
