import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import { serviceUnavailable } from '../../errors/service-error.js';
import { requestOf, responseOf } from '../request/http-context.js';
import { sendError } from './send-json.js';

/** Beside the waits for the database: all else that answering takes. */
const MARGIN_MS = 500;

/**
 * Answers 503 when a request's waits for the database add up to more than one of them may take: a key
 * looked up slowly and a slow query, a transaction of slow statements. What the handler does goes on
 * until its own time limits, and its answer is dropped. Stands last, so that the limit fields are set and the time that
 * the body took to arrive is not counted.
 */
@Injectable()
export class ResponseDeadlineGuard implements CanActivate {
  private readonly limitMs: number;

  constructor({ database }: Settings) {
    this.limitMs = database.poolWaitMs + database.statementTimeoutMs + MARGIN_MS;
  }

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const response = responseOf(context);
    const spentMs = performance.now() - request.receivedAt - request.bodyTookMs;
    const timer = setTimeout(() => {
      if (!response.headersSent) sendError(response, serviceUnavailable('deadline'));
    }, this.limitMs - spentMs);
    response.once('close', () => {
      // When the client has disconnected, the handler still holds the request's place.
      if (response.headersSent) clearTimeout(timer);
    });
    return true;
  }
}
