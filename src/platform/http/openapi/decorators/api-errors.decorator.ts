import { applyDecorators } from '@nestjs/common';
import { ApiExtension, type OperationObject } from '@nestjs/swagger';
import type { ErrorExamples } from '../description/errors.js';

/** The prefix of an extension for each code, so that several decorators add to each other. */
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
  const entries = Object.entries(decorated);
  const errors = entries.filter(([name]) => name.startsWith(EXTENSION));
  const operation = entries.filter((entry) => !errors.includes(entry));
  const messages = errors.map(([name, text]) => [name.slice(EXTENSION.length), text as string]);
  return {
    errors: Object.fromEntries(messages) as ErrorExamples,
    operation: Object.fromEntries(operation) as unknown as OperationObject,
  };
}
