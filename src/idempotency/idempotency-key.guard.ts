import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { requestOf } from '../http/request/request-context.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { isIdempotent } from './idempotent.decorator.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** Set on `@Idempotent()` handlers if the request has an `Idempotency-Key`. */
    idempotencyKey?: string | undefined;
  }
}

/**
 * Rejects a malformed `Idempotency-Key` before the body is read. Handlers that are not
 * `@Idempotent()` ignore the header.
 */
@Injectable()
export class IdempotencyKeyGuard implements CanActivate {
  /** @throws ServiceError invalid_request */
  canActivate(context: ExecutionContext): boolean {
    if (isIdempotent(context)) {
      const request = requestOf(context);
      request.idempotencyKey = readIdempotencyKey(request.headers);
    }
    return true;
  }
}
