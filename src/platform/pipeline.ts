import type { CanActivate, NestMiddleware, Type } from '@nestjs/common';
import { AccessLog } from './access-log.js';
import { ApiKeyGuard } from './access/api-key.guard.js';
import { ErrorFilter } from './error.filter.js';
import { BodyGuard } from './http/body/body.guard.js';
import { RequestContextMiddleware } from './http/request/request-context.middleware.js';
import { ResponseDeadline } from './http/response/response-deadline.js';
import type { ResponseObserver } from './http/response/response-observers.js';
import { CorsMiddleware } from './http/routing/cors.middleware.js';
import { PreflightMiddleware } from './http/routing/preflight.middleware.js';
import { ConnectionsMiddleware } from './http/server/connections.middleware.js';
import { DtoValidationPipe } from './http/validation/dto-validation.pipe.js';
import { IdempotencyKeyGuard } from './idempotency/idempotency-key.guard.js';
import { OverloadMiddleware } from './overload.middleware.js';
import { ProtocolErrorsMiddleware } from './protocol-errors.middleware.js';
import { PlanThrottlerGuard } from './rate-limit/plan-throttler.guard.js';

// Every step of a request, in order. The first step that rejects it determines the response.

// HttpAdapter creates the HTTP server. What Node's parser rejects (400, 408, 431) has no step:
// MalformedMessages passes it to ProtocolErrorsMiddleware.respond.

export const MIDDLEWARE: readonly Type<NestMiddleware>[] = [
  // Identifies the request, and sets the headers of every response. Everything that follows runs in
  // the AsyncLocalStorage of the request.
  RequestContextMiddleware,
  // Lets a connection have one request in progress. The same class closes connections over a bound.
  ConnectionsMiddleware,
  // Sets the headers for scripts of other origins.
  CorsMiddleware,
  // 400, 417 or 431 for a request that HTTP does not allow, 429 over the limit of the address.
  ProtocolErrorsMiddleware,
  // 503 over a bound.
  OverloadMiddleware,
  // 204 for a CORS preflight, which has no API key and is not counted.
  PreflightMiddleware,
];

// Middleware of features: `configure(consumer)`.

// The router chooses the handler. A path or method without a route leads to UnmatchedController.
// Handlers that packages mount in `onModuleInit` come after UnmatchedController.

export const GUARDS: readonly Type<CanActivate>[] = [
  // Identifies the caller: the owner of an API key, or the client address. 429 over a limit. Runs before
  // ApiKeyGuard, so that a 401 is counted and has the headers. The parser ignores the body of a 401
  // that needs no query (input.ts).
  PlanThrottlerGuard,
  // 401 without a valid API key, 503 if its state cannot be read. `@Public()` routes pass. 403 if a
  // read-only API key sends anything but GET, HEAD and OPTIONS to a route.
  ApiKeyGuard,
  // 400 for a malformed Idempotency-Key.
  IdempotencyKeyGuard,
  // 415, 413, 400 or 503 for a body that cannot be read. No body is read before this step. From now
  // on, 503 if the handler sends no response in time.
  BodyGuard,
  // Guards of features, controllers and handlers follow, such as that of `@Deprecated()`: 410.
  // Interceptors are next.
];

/** 400 that lists every invalid property of a DTO. */
export const PIPE = DtoValidationPipe;

// The handler runs: controller, service, repository. That of UnmatchedController sends 404 or 405.
// Idempotency.once, which services call, sends 409 or 422 for a used Idempotency-Key.

// HttpAdapter sends the result of the handler: JSON, ETag, Link, 304.

/** Sends every exception as an Error. */
export const FILTER = ErrorFilter;

/**
 * ResponseObservers calls these. When a response begins, the rate limit headers that it lacks are set. When it
 * is sent or its connection closes, what the request holds is released, and the request is logged and
 * counted.
 */
export const OBSERVERS: readonly Type<ResponseObserver>[] = [
  OverloadMiddleware,
  PlanThrottlerGuard,
  ResponseDeadline,
  AccessLog,
];
