import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { requestOf } from '../http/request/request-context.js';
import { RouteMetadata } from '../http/request/route-metadata.js';
import { Authenticator } from './authenticator.js';
import type { IdentifiedCaller } from './caller.js';
import { IsPublic, SKIP_THROTTLE } from './public.decorator.js';

/** Identifies the caller of a request by its API key. It rejects no request. */
@Injectable()
export class IdentifyCallerGuard implements CanActivate {
  constructor(
    private readonly authenticator: Authenticator,
    private readonly metadata: RouteMetadata,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    // Health probes must not cause a query, even if they send an API key.
    const isUncounted = this.metadata.of(context, SKIP_THROTTLE);
    if (isUncounted && this.metadata.of(context, IsPublic)) return true;
    const request = requestOf(context);
    const proceedAs = (caller: IdentifiedCaller): boolean => {
      request.caller = caller;
      return true;
    };
    const caller = this.authenticator.identify(request);
    return caller instanceof Promise ? caller.then(proceedAs) : proceedAs(caller);
  }
}
