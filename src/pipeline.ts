import type { CanActivate, NestMiddleware, Type } from '@nestjs/common';
import { AccessLog } from './access-log.js';
import { ApiKeyGuard } from './auth/api-key.guard.js';
import { IdentifyCallerGuard } from './auth/identify-caller.guard.js';
import { JsonBodyGuard } from './http/body/json-body.guard.js';
import { RequestContext } from './http/request/request-context.js';
import { Cors } from './http/routing/cors.js';
import { Connections } from './http/server/connections.js';
import { ProtocolErrors } from './http/server/protocol-errors.js';
import { IdempotencyKeyGuard } from './idempotency/idempotency-key.guard.js';
import { Overload } from './overload.js';
import { PlanThrottlerGuard } from './rate-limit/plan-throttler.guard.js';

/** The steps of every request before the router, in this order. */
export const MIDDLEWARE: readonly Type<NestMiddleware>[] = [
  // Processes one request of a connection at a time.
  Connections,
  // Identifies the request, and sets the headers of every response.
  RequestContext,
  // Logs and counts the request when its response is sent or its connection has closed.
  AccessLog,
  // Sets the headers for scripts of other origins.
  Cors,
  // 400 or 417 for a request that HTTP does not allow.
  ProtocolErrors,
  // 503 over a bound.
  Overload,
];

/** The guards of every route, in this order. A path or method without a route passes them, too. */
export const GUARDS: readonly Type<CanActivate>[] = [
  // Identifies the owner of an API key, or the client address.
  IdentifyCallerGuard,
  // 429 over a limit. Runs before ApiKeyGuard, so that a 401 is counted and has the headers.
  PlanThrottlerGuard,
  // 401 without a valid API key.
  ApiKeyGuard,
  // 400 for a malformed Idempotency-Key.
  IdempotencyKeyGuard,
  // 415, 413 or 400 for a body that cannot be read. No body is read before this step.
  JsonBodyGuard,
];
