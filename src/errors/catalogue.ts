/**
 * Every error code with its HTTP status. The set is closed: clients switch on the code, and the
 * interface description lists all of them. `invalid_request` also has the status 417 when the
 * request has an unsupported `Expect` header.
 */
export const ERROR_STATUS = {
  invalid_request: 400,
  malformed_json: 400,
  invalid_cursor: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  pet_not_found: 404,
  route_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_key_in_progress: 409,
  endpoint_removed: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limit_exceeded: 429,
  api_key_banned: 429,
  headers_too_large: 431,
  internal_error: 500,
  service_unavailable: 503,
} as const satisfies Record<string, number>;

export type ErrorCode = keyof typeof ERROR_STATUS;

export const ERROR_CODES = Object.keys(ERROR_STATUS) as ErrorCode[];
