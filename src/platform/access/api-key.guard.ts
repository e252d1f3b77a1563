import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { PUBLIC_MESSAGES } from '../errors/public-messages.js';
import { databaseUnavailable, ServiceError } from '../errors/service-error.js';
import { isHandledPreflight } from '../http/request/preflight.js';
import { requestOf } from '../http/request/request-context.js';
import type { AnonymousCaller } from './caller.js';
import { isPublic } from './public.decorator.js';

const CHALLENGE = 'Bearer realm="pets"';

/** Rejects callers without a valid API key, after PlanThrottlerGuard has counted the request. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  /** @throws ServiceError missing_api_key, invalid_api_key or service_unavailable */
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    if (isPublic(context) || isHandledPreflight(context)) return true;
    if (!request.caller)
      throw new Error('ApiKeyGuard must run after the guard that identifies callers');
    if (request.caller.kind === 'anonymous') throw rejection(request.caller);
    return true;
  }
}

// The same for every request.
const MISSING_KEY = new ServiceError('missing_api_key', PUBLIC_MESSAGES.missingApiKey, {
  headers: { 'WWW-Authenticate': CHALLENGE },
});
const INVALID_KEY = new ServiceError('invalid_api_key', PUBLIC_MESSAGES.invalidApiKey, {
  headers: { 'WWW-Authenticate': `${CHALLENGE}, error="invalid_token"` },
});

function rejection({ reason, cause }: AnonymousCaller): ServiceError {
  if (reason === 'unavailable') return databaseUnavailable(cause);
  return reason === 'missing' ? MISSING_KEY : INVALID_KEY;
}
