import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { databaseUnavailable, ServiceError } from '../errors/service-error.js';
import { requestOf, routeMetadata } from '../http/request/request-context.js';
import { IsPublic } from '../http/request/public.decorator.js';
import { PRODUCT } from '../../product.js';

/** Rejects callers without a valid API key, after PlanThrottlerGuard has counted the request. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  /** @throws ServiceError missing_api_key, invalid_api_key or service_unavailable */
  canActivate(context: ExecutionContext): boolean {
    const { caller } = requestOf(context);
    if (caller?.kind === 'key' || routeMetadata(context, IsPublic)) return true;
    if (caller?.reason === 'unavailable') throw databaseUnavailable(caller.cause);
    throw caller?.reason === 'invalid' ? INVALID_KEY : MISSING_KEY;
  }
}

const MISSING_KEY = new ServiceError('missing_api_key');
const INVALID_KEY = new ServiceError('invalid_api_key', undefined, {
  headers: { 'WWW-Authenticate': `Bearer realm="${PRODUCT.realm}", error="invalid_token"` },
});
