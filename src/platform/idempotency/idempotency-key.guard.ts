import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { requestOf } from '../http/request/request-context.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { IdempotentResponse } from './idempotency.js';
import { isIdempotent } from './idempotent.decorator.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** Set on `@Idempotent()` handlers if the request has an `Idempotency-Key`. */
    idempotencyKey?: string | undefined;
  }
}

/**
 * Rejects a malformed `Idempotency-Key` before the body is read. Handlers that are not
 * `@Idempotent()` ignore the header. For a request with a key, the handler must return what
 * `Idempotency.once` returned for this key: otherwise a retry would do the work again.
 */
@Injectable()
export class IdempotencyKeyGuard implements CanActivate {
  /** @throws ServiceError invalid_request */
  canActivate(context: ExecutionContext): boolean {
    if (!isIdempotent(context)) return true;
    const request = requestOf(context);
    const key = readIdempotencyKey(request.headers);
    request.idempotencyKey = key;
    if (key !== undefined) request.checkResult = (result) => requireStored(result, key, context);
    return true;
  }
}

function requireStored(result: unknown, key: string, context: ExecutionContext): void {
  if (result instanceof IdempotentResponse && result.key === key) return;
  throw new Error(
    `${context.getClass().name}.${context.getHandler().name} received an Idempotency-Key, and did not return the result of Idempotency.once for this key. A retry would process the request again. Pass the key to Idempotency.once, and return its result unchanged.`,
  );
}
