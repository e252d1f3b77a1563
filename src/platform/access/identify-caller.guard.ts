import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { requestOf } from '../http/request/request-context.js';
import { Authenticator } from './authenticator.js';
import type { Caller } from './caller.js';
import { needsCaller } from './public.decorator.js';

/** Identifies the caller of a request by its API key. It rejects no request. */
@Injectable()
export class IdentifyCallerGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    // Health probes must not cause a query, even if they send an API key.
    if (!needsCaller(context)) return true;
    const request = requestOf(context);
    const proceedAs = (caller: Caller): boolean => {
      request.caller = caller;
      return true;
    };
    const caller = this.authenticator.identify(request);
    return caller instanceof Promise ? caller.then(proceedAs) : proceedAs(caller);
  }
}
