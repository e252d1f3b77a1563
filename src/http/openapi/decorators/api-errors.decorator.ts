import { applyDecorators } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { byStatus, errorResponse, type ErrorExamples } from '../description/error-response.js';

/**
 * Describes the failures of an operation that are its own. Those that hold for every operation (limits,
 * key, body, defects) are described without being named.
 *
 * @param messages the codes, each with a message as it is answered
 */
export function ApiErrors(messages: ErrorExamples): MethodDecorator {
  const responses = [...byStatus(messages)].map(([status, examples]) =>
    ApiResponse({ status, ...errorResponse(status, examples) }),
  );
  return applyDecorators(...responses);
}
