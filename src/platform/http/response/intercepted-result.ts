import { AsyncLocalStorage } from 'node:async_hooks';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { from, lastValueFrom, map, Observable } from 'rxjs';
import { requestOf } from '../request/request-context.js';
import { Page, SerializedJson } from './handler-result.js';

/** A request to a handler with `@IdempotencyKey()`. */
interface Exchange {
  /** What the interceptors make of the result. */
  intercepted?: Promise<unknown>;
  /** The stored response, which is sent in place of it. */
  stored?: Promise<unknown>;
}

const EMPTY = { defaultValue: undefined };
const interceptors = new AsyncLocalStorage<(result: unknown) => Promise<unknown>>();

/** Returns what the interceptors of the route make of a result, before the handler returns it. */
export function intercepted(result: unknown): Promise<unknown> {
  return interceptors.getStore()?.(result) ?? Promise.resolve(result);
}

/**
 * The innermost interceptor of a route with interceptors. The others get the items of a `Page`, whose
 * `Link` is sent with whatever they return.
 *
 * With `@IdempotencyKey()`, it is also the outermost one. The others change a result before it is
 * stored, so that retries get the same bytes and an error rolls the work back. They do not see a
 * stored response.
 */
export class InterceptedResult implements NestInterceptor {
  private readonly exchanges = new WeakMap<object, Exchange>();

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = requestOf(context);
    if (request.idempotencyKey === undefined) {
      return next.handle().pipe(
        map((result: unknown) => {
          if (!(result instanceof Page)) return result;
          request.nextPage = result.next;
          return result.items as unknown;
        }),
      );
    }
    const exchange = this.exchanges.get(request);
    if (exchange) return resultOf(exchange, next);
    const created = {};
    this.exchanges.set(request, created);
    return from(responseOf(created, next));
  }
}

async function responseOf(exchange: Exchange, next: CallHandler): Promise<unknown> {
  exchange.intercepted = lastValueFrom(next.handle(), EMPTY);
  const result = await exchange.intercepted;
  return exchange.stored ?? result;
}

/** Emits the result of the handler, or what the handler passes to `intercepted` before it ends. */
function resultOf(exchange: Exchange, next: CallHandler): Observable<unknown> {
  return new Observable((subscriber) => {
    const emit = (result: unknown): void => {
      if (result instanceof SerializedJson) exchange.stored = handled;
      else subscriber.next(result);
      subscriber.complete();
    };
    const intercept = (result: unknown): Promise<unknown> => {
      exchange.stored = handled;
      emit(result);
      return Promise.resolve(exchange.intercepted);
    };
    const handled = interceptors.run(intercept, () => lastValueFrom(next.handle(), EMPTY));
    handled.then(emit, (error: unknown) => subscriber.error(error));
  });
}
