import { Injectable } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import { serviceUnavailable } from '../../errors/service-error.js';
import type { Request } from '../request/request.js';
import type { ResponseObserver } from './response-observers.js';
import { sendError } from './send-body.js';

/** Time for all work of the service except its waits for the database. */
const MARGIN_MS = 500;

/**
 * Sends 503 if a handler sends no response in time: each wait for the database has its own limit, but
 * several can add up. BodyGuard starts it, because the time that the body takes does not count.
 */
@Injectable()
export class ResponseDeadline implements ResponseObserver {
  constructor(private readonly settings: Settings) {}

  /**
   * Sets the time by which the handler must respond. It counts from the arrival of the head, with the time of
   * the body in addition. Returns true, which BodyGuard returns.
   *
   * @param bodyMs how long the body took to arrive or may still take, in milliseconds
   */
  start(request: Request, bodyMs = 0): true {
    const { poolWaitMs, statementTimeoutMs } = this.settings.database;
    const limitMs = poolWaitMs + statementTimeoutMs + MARGIN_MS + bodyMs;
    const restMs = request.state.receivedAt + limitMs - performance.now();
    request.state.deadline = setTimeout(sendLate, restMs, request);
    return true;
  }

  onClose({ state }: Request): void {
    clearTimeout(state.deadline);
  }
}

function sendLate({ res: response }: Request): void {
  if (!response || response.headersSent) return;
  const cause = 'response deadline: the handler has sent no response';
  const message = 'The service did not respond in time. Try again later.';
  sendError(response, serviceUnavailable(cause, message));
}
