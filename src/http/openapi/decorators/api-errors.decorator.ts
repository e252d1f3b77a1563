import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { byStatus, errorResponse, type ErrorExamples } from '../description/error-response.js';

/**
 * Describes the errors of an operation. Every operation has the errors of the guards and the server
 * without this decorator.
 *
 * @param messages an example message for each code
 */
export function ApiErrors(messages: ErrorExamples): MethodDecorator {
  const responses = [...byStatus(messages)].map(([status, examples]) =>
    ApiResponse({ status, ...errorResponse(status, examples) }),
  );
  return applyDecorators(...responses);
}
