import type { ErrorCode } from '../../../errors/catalogue.js';

/** When each code is answered, in the words of the interface description. */
export const ERROR_DESCRIPTIONS: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'A parameter, header or field is missing or invalid.',
  malformed_json: 'The body is not JSON in UTF-8.',
  invalid_cursor: 'The cursor does not read as one, or is of a list with other filters.',
  missing_api_key: 'No API key was sent.',
  invalid_api_key: 'The API key is malformed, unknown, expired or revoked.',
  pet_not_found: 'No animal has this identifier.',
  route_not_found: 'No such path.',
  method_not_allowed: 'The path exists, the method does not.',
  request_timeout: 'The request did not arrive in time.',
  idempotency_key_in_progress: 'The first request with this idempotency key is still under way.',
  endpoint_removed: 'The operation was removed.',
  payload_too_large: 'The body is larger than 102,400 bytes, as sent or decompressed.',
  unsupported_media_type:
    'The body is not `application/json` in UTF-8, or not encoded as gzip or br.',
  idempotency_key_reused: 'The idempotency key was used for another body before.',
  rate_limit_exceeded: "The limit of the owner's plan is used up.",
  api_key_banned: 'The API key is banned for a time, as it went on after many refusals.',
  headers_too_large: 'The header fields are too large.',
  internal_error: 'A defect of the service.',
  service_unavailable: 'The database cannot be reached, or the service is overloaded.',
};
