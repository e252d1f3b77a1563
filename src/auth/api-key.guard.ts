import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ServiceError, serviceUnavailable } from '../errors/service-error.js';
import { requestOf } from '../http/request/http-context.js';
import type { AnonymousCaller } from './caller.js';
import { isPublic } from './public.decorator.js';

const CHALLENGE = 'Bearer realm="pets"';

/**
 * Lets in only callers with a valid key; stands behind PlanThrottlerGuard, which has found out who
 * calls, so that a refused request is counted too.
 */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  /** @throws ServiceError missing_api_key, invalid_api_key or service_unavailable */
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    if (isPublic(context) || request.corsPreflight) return true;
    if (!request.caller)
      throw new Error('ApiKeyGuard stands before the guard that identifies callers');
    if (request.caller.kind === 'anonymous') throw refusal(request.caller);
    return true;
  }
}

// The same for everybody, so made once.
const MISSING_KEY = new ServiceError(
  'missing_api_key',
  'An API key is required: send it as Authorization: Bearer <API_KEY>.',
  { headers: { 'WWW-Authenticate': CHALLENGE } },
);
const INVALID_KEY = new ServiceError('invalid_api_key', 'The API key is not valid.', {
  headers: { 'WWW-Authenticate': `${CHALLENGE}, error="invalid_token"` },
});

function refusal({ reason, cause }: AnonymousCaller): ServiceError {
  switch (reason) {
    case 'missing':
      return MISSING_KEY;
    case 'unavailable':
      return serviceUnavailable(cause);
    case 'invalid':
    case 'unverified':
      return INVALID_KEY;
  }
}
