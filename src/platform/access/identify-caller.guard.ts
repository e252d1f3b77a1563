import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { hasBody, requestOf, routeMetadata } from '../http/request/request-context.js';
import { IsPublic, SKIP_THROTTLE } from '../http/request/public.decorator.js';
import { inputOf } from '../http/request/request.js';
import { Authenticator } from './authenticator.js';
import type { IdentifiedCaller } from './caller.js';

/**
 * Identifies the caller of a request by its API key. It rejects no request: it is a guard because it
 * reads what the route declares. Without a valid API key, it runs in the event-loop tick in which the
 * head arrived, so that the parser can ignore the body.
 */
@Injectable()
export class IdentifyCallerGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    // Health probes must not cause a query, even if they send an API key.
    const isPublic = routeMetadata(context, IsPublic);
    if (isPublic && routeMetadata(context, SKIP_THROTTLE)) return true;
    const request = requestOf(context);
    // ApiKeyGuard rejects it, so that nothing reads the body.
    if (!isPublic && hasBody(request)) {
      inputOf(request).isIgnored = !this.authenticator.hasValidKey(request);
    }
    const caller = this.authenticator.identify(request);
    const set = (found: IdentifiedCaller): true => {
      request.caller = found;
      return true;
    };
    // A cached key has nothing to wait for (docs/performance.md).
    return caller instanceof Promise ? caller.then(set) : set(caller);
  }
}
