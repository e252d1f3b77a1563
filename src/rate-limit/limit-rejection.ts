import { PUBLIC_MESSAGES } from '../errors/public-messages.js';
import { ServiceError } from '../errors/service-error.js';
import { retryAfterSeconds } from './limit-headers.js';
import type { RateLimitDecision } from './limit-storage.js';

/** Returns the 429 of a decision that rejects the request, with `Retry-After`. */
export function limitRejection(decision: RateLimitDecision): ServiceError {
  const seconds = retryAfterSeconds(decision);
  const headers = { 'Retry-After': String(seconds) };
  return decision.bannedUntilMs === undefined
    ? new ServiceError('rate_limit_exceeded', PUBLIC_MESSAGES.rateLimitExceeded(seconds), {
        headers,
      })
    : new ServiceError('api_key_banned', PUBLIC_MESSAGES.apiKeyBanned(seconds), { headers });
}
