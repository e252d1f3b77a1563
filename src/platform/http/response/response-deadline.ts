import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Settings } from '../../config/settings.js';
import { serviceUnavailable } from '../../errors/service-error.js';
import { requestOf, responseOf } from '../request/request-context.js';
import type { Request, Response } from '../request/request.js';
import { RouteMetadata } from '../request/route-metadata.js';
import { sendError } from './send-json.js';

/**
 * Sets how long the caller of a route, or of the routes of a controller, waits for the response, in
 * milliseconds, less than STALLED_CONNECTION_TIMEOUT_SECONDS. Then the service sends 503.
 */
export const ResponseDeadline = Reflector.createDecorator<number>();

/** Time for all work of the service except its waits for the database. */
const MARGIN_MS = 500;
const PRECISION_MS = 100;

/**
 * Sends 503 if a handler sends no response in time: each wait for the database has its own limit, but
 * several can add up. The time that the body takes does not count.
 */
@Injectable()
export class ResponseDeadlineGuard implements CanActivate {
  private readonly limitMs: number;
  private readonly requestTimeoutMs: number;

  constructor(
    { database, server }: Settings,
    private readonly metadata: RouteMetadata,
  ) {
    this.limitMs = database.poolWaitMs + database.statementTimeoutMs + MARGIN_MS;
    this.requestTimeoutMs = server.requestTimeoutMs;
  }

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const limitMs = this.metadata.of(context, ResponseDeadline) ?? this.limitMs;
    const { receivedAt, bodyMs = 0 } = request;
    // The route reads an upload itself.
    const uploadMs = request.reservedBytes === undefined ? 0 : this.requestTimeoutMs;
    const restMs = receivedAt + bodyMs + uploadMs + limitMs - performance.now();
    // Timers of one duration share a list in Node, which makes them cheap.
    const delayMs = Math.ceil(restMs / PRECISION_MS) * PRECISION_MS;
    request.deadline = setTimeout(sendLate, delayMs, responseOf(context));
    return true;
  }

  onClose({ deadline }: Request): void {
    clearTimeout(deadline);
  }
}

function sendLate(response: Response): void {
  if (response.headersSent) return;
  const cause = 'response deadline: the handler has sent no response';
  sendError(
    response,
    serviceUnavailable(cause, 'The service did not respond in time. Try again later.'),
  );
}
