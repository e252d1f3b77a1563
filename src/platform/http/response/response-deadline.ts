import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import { serviceUnavailable } from '../../errors/service-error.js';
import { requestOf } from '../request/request-context.js';
import type { Request } from '../request/request.js';
import { sendError } from './send-json.js';

/** Time for all work of the service except its waits for the database. */
const MARGIN_MS = 500;

/**
 * Sends 503 if a handler sends no response in time: each wait for the database has its own limit, but
 * several can add up. The time that the body takes does not count.
 */
@Injectable()
export class ResponseDeadlineGuard implements CanActivate {
  constructor(private readonly settings: Settings) {}

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const { database, server } = this.settings;
    const { receivedAt, bodyMs = 0 } = request;
    // The route reads an upload itself.
    const uploadMs = request.reservedBytes === undefined ? 0 : server.requestTimeoutMs;
    const limitMs = database.poolWaitMs + database.statementTimeoutMs + MARGIN_MS + uploadMs;
    const restMs = receivedAt + bodyMs + limitMs - performance.now();
    request.deadline = setTimeout(sendLate, restMs, request);
    return true;
  }

  onClose({ deadline }: Request): void {
    clearTimeout(deadline);
  }
}

function sendLate({ res: response }: Request): void {
  if (!response || response.headersSent) return;
  const cause = 'response deadline: the handler has sent no response';
  const message = 'The service did not respond in time. Try again later.';
  sendError(response, serviceUnavailable(cause, message));
}
