import { applyDecorators } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import type { ErrorExamples } from '../description/errors.js';
import type { Operation } from '../description/openapi-types.js';

/** An extension for each code, so that several decorators add to each other. Not published. */
const EXTENSION = 'x-error-';

/**
 * Describes the errors of an operation. Every operation has the errors of the guards and the server
 * without this decorator. If several decorators declare the same code, the one closest to the
 * method provides the message.
 *
 * @param messages an example message for each code
 */
export function ApiErrors(messages: ErrorExamples): ClassDecorator & MethodDecorator {
  const extensions = Object.entries(messages).map(([code, message]) =>
    ApiExtension(EXTENSION + code, message),
  );
  return applyDecorators(...extensions);
}

/** Separates the errors that `@ApiErrors()` declares from the operation. */
export function takeErrors(decorated: Operation): { errors: ErrorExamples; operation: Operation } {
  const errors: Record<string, unknown> = {};
  const operation: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(decorated)) {
    if (name.startsWith(EXTENSION)) errors[name.slice(EXTENSION.length)] = value;
    else operation[name] = value;
  }
  return { errors, operation: operation as typeof decorated & Record<string, unknown> };
}
