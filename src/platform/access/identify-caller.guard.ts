import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { requestOf } from '../http/request/request-context.js';
import { Authenticator, MISSING } from './authenticator.js';
import { needsCaller } from './public.decorator.js';

/** Identifies the caller of a request by its API key. It rejects no request. */
@Injectable()
export class IdentifyCallerGuard implements CanActivate {
  constructor(private readonly authenticator: Authenticator) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    // Health probes must not cause a query, even if they send an API key.
    if (!needsCaller(context)) return true;
    const request = requestOf(context);
    // Browsers send no API key with a preflight.
    request.caller = request.corsPreflight ? MISSING : await this.authenticator.identify(request);
    return true;
  }
}
