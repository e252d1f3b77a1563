import { ServiceError } from '../errors/service-error.js';
import { retryAfterSeconds } from './limit-headers.js';
import type { Reading } from './limit-storage.js';

/** Returns the 429 of a reading that refuses, with Retry-After. */
export function limitRefusal(reading: Reading): ServiceError {
  const seconds = String(retryAfterSeconds(reading));
  const again = `Try again in ${seconds} ${seconds === '1' ? 'second' : 'seconds'}.`;
  const headers = { 'Retry-After': seconds };
  return reading.bannedUntilMs === undefined
    ? new ServiceError('rate_limit_exceeded', `The request limit is used up. ${again}`, { headers })
    : new ServiceError(
        'api_key_banned',
        `This API key is banned for a time: it went on after it was told to wait. ${again}`,
        { headers },
      );
}
