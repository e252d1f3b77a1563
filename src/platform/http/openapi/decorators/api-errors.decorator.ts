import { applyDecorators } from '@nestjs/common';
import { ApiExtension, type OperationObject } from '@nestjs/swagger';
import type { FeatureError } from '../../../errors/catalogue.js';
import { type DescribedError, describedErrors, type ErrorExamples } from '../description/errors.js';

/** The prefix of an extension for each error, so that several decorators add to each other. */
const EXTENSION = 'x-error-';

/**
 * Describes the errors of an operation, except those of the guards and the server: errors that a
 * feature declares, and example messages for codes of the catalogue. Several messages of one code add
 * up, also those of several decorators.
 */
export function ApiErrors(
  ...errors: readonly (FeatureError | ErrorExamples)[]
): ClassDecorator & MethodDecorator {
  const described = errors.flatMap((error): DescribedError[] =>
    'when' in error ? [{ ...error, message: error.when }] : describedErrors(error),
  );
  return applyDecorators(
    ...described.map((error) => ApiExtension(`${EXTENSION}${error.code} ${error.message}`, error)),
  );
}

/** Separates the errors that `@ApiErrors()` declares from the operation. */
export function takeErrors(decorated: OperationObject) {
  const isError = ([name]: [string, unknown]): boolean => name.startsWith(EXTENSION);
  const entries = Object.entries(decorated);
  return {
    errors: entries.filter(isError).map(([, error]) => error as DescribedError),
    operation: Object.fromEntries(entries.filter((entry) => !isError(entry))) as OperationObject,
  };
}
