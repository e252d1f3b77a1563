interface ErrorKind {
  /** The HTTP status of the response. */
  readonly status: number;
  /** When the service sends the error, for the interface description. */
  readonly when: string;
}

/** An error of a feature, which declares it as a constant and lists it in `@ApiErrors()`. */
export interface FeatureError extends ErrorKind {
  readonly code: string;
}

/**
 * The errors of every service. Clients switch on the code, so the set is closed, and the interface
 * description lists all. `invalid_request` also has the status 417, for an unsupported `Expect`.
 */
const SERVICE_ERRORS = {
  invalid_request: { status: 400, when: 'A parameter, header or field is missing or invalid.' },
  malformed_json: {
    status: 400,
    when: 'The body is not JSON in UTF-8, nests deeper than 32 levels, or has more than 10,000 values.',
  },
  invalid_cursor: {
    status: 400,
    when: 'The cursor is malformed or belongs to a list with different filters.',
  },
  missing_api_key: { status: 401, when: 'The request has no API key.' },
  invalid_api_key: { status: 401, when: 'The API key is malformed, unknown, expired or revoked.' },
  route_not_found: { status: 404, when: 'No route matches the path.' },
  method_not_allowed: { status: 405, when: 'The path does not allow the method.' },
  request_timeout: { status: 408, when: 'The request did not arrive in time.' },
  idempotency_key_in_progress: {
    status: 409,
    when: 'The first request with this idempotency key is still in progress.',
  },
  endpoint_removed: { status: 410, when: 'The operation was removed.' },
  payload_too_large: { status: 413, when: 'The body is larger than 102,400 bytes.' },
  unsupported_media_type: {
    status: 415,
    when: 'The body is not `application/json` in UTF-8, or it is compressed.',
  },
  idempotency_key_reused: {
    status: 422,
    when: 'The idempotency key was already used with a different body.',
  },
  rate_limit_exceeded: { status: 429, when: 'The request is over the rate limit.' },
  api_key_banned: {
    status: 429,
    when: 'The API key is temporarily banned after too many rejected requests.',
  },
  headers_too_large: { status: 431, when: 'The request headers are too large or too many.' },
  internal_error: { status: 500, when: 'The service failed.' },
  service_unavailable: {
    status: 503,
    when: 'The database is unavailable, or the service is overloaded.',
  },
} as const satisfies Record<string, ErrorKind>;

/**
 * Errors that a feature can send with `ServiceError` or an HttpException of NestJS. The interface
 * description lists those that a route declares.
 */
const GENERIC_ERRORS = {
  unauthorized: { status: 401, when: 'The caller is not authenticated for this operation.' },
  payment_required: { status: 402, when: 'The operation requires a payment.' },
  forbidden: { status: 403, when: 'The caller may not use this operation or resource.' },
  not_found: { status: 404, when: 'The resource does not exist.' },
  not_acceptable: { status: 406, when: 'The resource has no representation that is acceptable.' },
  conflict: { status: 409, when: 'The request conflicts with the state of the resource.' },
  gone: { status: 410, when: 'The resource no longer exists.' },
  precondition_failed: { status: 412, when: 'A precondition of the request does not hold.' },
  im_a_teapot: { status: 418, when: 'The service is a teapot.' },
  misdirected: { status: 421, when: 'The request was sent to the wrong server.' },
  unprocessable_entity: { status: 422, when: 'The request cannot be processed.' },
  locked: { status: 423, when: 'The resource is locked.' },
  failed_dependency: { status: 424, when: 'An operation that this one depends on failed.' },
  precondition_required: { status: 428, when: 'The request must have a precondition.' },
  too_many_requests: { status: 429, when: 'Too many requests.' },
  unavailable_for_legal_reasons: { status: 451, when: 'The law forbids access to the resource.' },
  not_implemented: { status: 501, when: 'The operation is not implemented.' },
  bad_gateway: { status: 502, when: 'Another service sent an invalid response.' },
  gateway_timeout: { status: 504, when: 'Another service did not respond in time.' },
  http_version_not_supported: { status: 505, when: 'The HTTP version is not supported.' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof SERVICE_ERRORS | keyof typeof GENERIC_ERRORS;

export const ERRORS: Readonly<Record<ErrorCode, ErrorKind>> = {
  ...SERVICE_ERRORS,
  ...GENERIC_ERRORS,
};

export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** Returns whether the interface description lists a code only if a route declares it. */
export function isGeneric(code: string): boolean {
  return code in GENERIC_ERRORS;
}

/** The codes for a status that says nothing about the reason. */
const CODE_OF_STATUS = new Map<number, ErrorCode>([
  ...ERROR_CODES.filter(isGeneric).map((code) => [ERRORS[code].status, code] as const),
  [400, 'invalid_request'],
  [405, 'method_not_allowed'],
  [408, 'request_timeout'],
  [413, 'payload_too_large'],
  [415, 'unsupported_media_type'],
  [431, 'headers_too_large'],
  [503, 'service_unavailable'],
]);

/** Returns the code for an error that has only an HTTP status. */
export function codeOfStatus(status: number): ErrorCode {
  return CODE_OF_STATUS.get(status) ?? (status < 500 ? 'invalid_request' : 'internal_error');
}
