import type { ExceptionFilter } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';

/**
 * Makes filters that extend BaseExceptionFilter, as the documentation of NestJS shows, send Errors. Its
 * own bodies have no code, and it logs without the identifiers of the request.
 *
 * @param filter the filter of the service
 */
export function useAsBaseFilter(filter: ExceptionFilter): void {
  BaseExceptionFilter.prototype.catch = (exception, host) => void filter.catch(exception, host);
}
