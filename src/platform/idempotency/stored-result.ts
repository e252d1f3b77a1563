import { AsyncLocalStorage } from 'node:async_hooks';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { from, lastValueFrom, Observable } from 'rxjs';
import { requestOf } from '../http/request/request-context.js';
import { SerializedJson } from '../http/response/handler-result.js';

/** The interceptors of a request with an idempotency key, and its handler. */
interface Exchange {
  /** What the interceptors make of the result. */
  intercepted?: Promise<unknown>;
  /** The stored response, which is sent in place of the above. */
  stored?: Promise<unknown>;
}

const EMPTY = { defaultValue: undefined };
const exchanges = new WeakMap<object, Exchange>();
const interceptors = new AsyncLocalStorage<(result: unknown) => Promise<unknown>>();

/** Returns what the interceptors of the route make of the result of the work, in its transaction. */
export function intercepted(result: unknown): Promise<unknown> {
  return interceptors.getStore()?.(result) ?? Promise.resolve(result);
}

/**
 * The outermost and the innermost interceptor of a route with `@IdempotencyKey()`. Between them, the
 * other interceptors change the result before it is stored: retries get the same bytes, and an error
 * rolls the work back. They do not see a stored response.
 */
export class StoredResult implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = requestOf(context);
    if (request.idempotencyKey === undefined) return next.handle();
    const exchange = exchanges.get(request);
    if (exchange) return handOver(exchange, next);
    const created: Exchange = {};
    exchanges.set(request, created);
    return from(sendStored(created, next));
  }
}

async function sendStored(exchange: Exchange, next: CallHandler): Promise<unknown> {
  exchange.intercepted = lastValueFrom(next.handle(), EMPTY);
  const result = await exchange.intercepted;
  return exchange.stored ?? result;
}

function handOver(exchange: Exchange, next: CallHandler): Observable<unknown> {
  return new Observable((subscriber) => {
    const emit = (result: unknown): void => {
      subscriber.next(result);
      subscriber.complete();
    };
    const handled = interceptors.run(
      (result) => {
        exchange.stored = handled;
        emit(result);
        return Promise.resolve(exchange.intercepted);
      },
      () => lastValueFrom(next.handle(), EMPTY),
    );
    handled.then(
      (result) => {
        if (!(result instanceof SerializedJson)) return emit(result);
        exchange.stored = handled;
        subscriber.complete();
      },
      (error: unknown) => subscriber.error(error),
    );
  });
}
