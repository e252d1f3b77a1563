import { applyDecorators } from '@nestjs/common';
import { ApiExtension, type OperationObject } from '@nestjs/swagger';
import type { ErrorExamples } from '../description/errors.js';

/** An extension for each code, so that several decorators add to each other. Not published. */
const EXTENSION = 'x-error-';

/**
 * Describes the errors of an operation, except those of the guards and the server, with an example
 * message for each code. If several decorators declare a code, the one closest to the method wins.
 */
export function ApiErrors(messages: ErrorExamples): ClassDecorator & MethodDecorator {
  const entries = Object.entries(messages);
  return applyDecorators(...entries.map(([code, text]) => ApiExtension(EXTENSION + code, text)));
}

/** Separates the errors that `@ApiErrors()` declares from the operation. */
export function takeErrors(decorated: OperationObject) {
  const errors: Record<string, unknown> = {};
  const operation: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(decorated)) {
    if (name.startsWith(EXTENSION)) errors[name.slice(EXTENSION.length)] = value;
    else operation[name] = value;
  }
  return {
    errors: errors as ErrorExamples,
    operation: operation as typeof decorated & typeof operation,
  };
}
