import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { requestOf } from '../request/request-context.js';
import { Page } from './handler-result.js';

/**
 * The innermost interceptor of a route with interceptors. The others get the items of a page, and
 * whatever they make of these is sent with the `Link` of the page.
 */
export class PageItems implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      map((result: unknown): unknown => {
        if (!(result instanceof Page)) return result;
        requestOf(context).nextPage = result.next;
        return result.items as readonly unknown[];
      }),
    );
  }
}
