import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { requestOf } from '../http/request/http-context.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { isIdempotent } from './idempotent.decorator.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** Set on handlers with `@Idempotent()`, where the caller has sent one. */
    idempotencyKey?: string | undefined;
  }
}

/**
 * Refuses an `Idempotency-Key` without the form of one, before the body is read; handlers that are
 * not `@Idempotent()` ignore the field.
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
