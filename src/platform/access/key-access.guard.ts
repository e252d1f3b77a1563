import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ServiceError } from '../errors/service-error.js';
import { exceedsAccess, requestOf, routeOf } from '../http/request/request-context.js';

const READ_ONLY = new ServiceError('read_only_api_key');

/** Rejects what a read-only API key does not allow, on every route, before the body is read. */
@Injectable()
export class KeyAccessGuard implements CanActivate {
  /** @throws ServiceError read_only_api_key */
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    // UnmatchedController rejects the rest: 404 and 405 take precedence.
    if (!exceedsAccess(request) || routeOf(request) === 'unmatched') return true;
    throw READ_ONLY;
  }
}
