import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Settings } from '../config/settings.js';
import { invalidKeyMessage } from '../errors/catalogue.js';
import { ServiceError } from '../errors/service-error.js';
import { routeMetadata } from '../http/request/handler.js';
import type { Identification } from '../http/request/caller.js';
import { IsPublic } from '../http/request/public.decorator.js';
import { exceedsAccess, requestOf, routeOf, type Request } from '../http/request/request.js';
import type { CallerCheck } from '../http/request/request-state.js';
import { Authenticator } from './authenticator.js';

/**
 * Rejects callers without a valid API key, after PlanThrottlerGuard has counted the request, and what a
 * read-only API key does not allow, on every route.
 */
@Injectable()
export class ApiKeyGuard implements CanActivate, CallerCheck {
  private readonly missing = new ServiceError('missing_api_key');
  private readonly readOnly = new ServiceError('read_only_api_key');
  private readonly invalid;

  constructor(
    { product }: Settings,
    private readonly authenticator: Authenticator,
  ) {
    this.invalid = new ServiceError('invalid_api_key', invalidKeyMessage(product.keyPrefix));
  }

  /** @throws ServiceError missing_api_key, invalid_api_key, read_only_api_key or service_unavailable */
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    if (routeMetadata(context, IsPublic)) return this.checkAccess(request);
    request.state.callerCheck = this;
    // PlanThrottlerGuard has identified the caller.
    return this.check(request, request.state.caller);
  }

  /** @throws ServiceError as `canActivate` */
  async checkAgain(request: Request): Promise<void> {
    this.check(request, await this.authenticator.identifyAgain(request));
  }

  private check(request: Request, caller: Identification | undefined): true {
    if (caller?.failure) throw caller.failure;
    if (caller?.reason === 'invalid') throw this.invalid;
    if (caller?.kind !== 'key') throw this.missing;
    return this.checkAccess(request);
  }

  private checkAccess(request: Request): true {
    // UnmatchedController rejects the rest: 404 and 405 take precedence.
    if (exceedsAccess(request) && routeOf(request) !== 'unmatched') throw this.readOnly;
    return true;
  }
}
