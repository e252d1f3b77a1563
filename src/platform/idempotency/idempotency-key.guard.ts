import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { requestOf } from '../http/request/request-context.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { acceptsIdempotencyKey } from './idempotency-key.decorator.js';

/**
 * Rejects a malformed `Idempotency-Key` before the body is read. Handlers without
 * `@IdempotencyKey()` ignore the header. For a request with a key, HttpAdapter sends only what
 * `Idempotency.once` returned for this key: otherwise a retry would do the work again.
 */
@Injectable()
export class IdempotencyKeyGuard implements CanActivate {
  /** @throws ServiceError invalid_request */
  canActivate(context: ExecutionContext): boolean {
    if (!acceptsIdempotencyKey(context)) return true;
    const request = requestOf(context);
    request.idempotencyKey = readIdempotencyKey(request.headers);
    return true;
  }
}
