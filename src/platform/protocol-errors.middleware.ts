import { Inject, Injectable, type NestMiddleware, type OnModuleInit } from '@nestjs/common';
import type { Logger } from 'pino';
import { Settings } from './config/settings.js';
import type { ServiceError } from './errors/service-error.js';
import { loggedAddress } from './http/request/address.js';
import { ignoreInput } from './http/request/input.js';
import type { NextFunction, Request, Response } from './http/request/request.js';
import { sendError } from './http/response/send-body.js';
import { MalformedMessages, violationOf } from './http/server/malformed-messages.js';
import { LOGGER } from './logging/logger.js';
import { PlanThrottlerGuard } from './rate-limit/plan-throttler.guard.js';

/**
 * Sends the errors of the HTTP protocol, with rate limit headers and an Error body. They are counted for
 * the address, because no API key was read.
 */
@Injectable()
export class ProtocolErrorsMiddleware implements NestMiddleware, OnModuleInit {
  constructor(
    private readonly messages: MalformedMessages,
    private readonly limiter: PlanThrottlerGuard,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.messages.watchServer(this.respond);
  }

  /** Rejects a request which the parser accepts but the service does not. */
  use(request: Request, response: Response, next: NextFunction): void {
    const error = violationOf(request);
    if (!error) return next();
    ignoreInput(request);
    this.reject(request, response, error).catch(next);
  }

  private async reject(request: Request, response: Response, error: ServiceError): Promise<void> {
    const { remoteAddress } = request.socket;
    const rejection = await this.limiter.consumeForAddress(remoteAddress, response);
    // The bytes that follow may be a part of this message.
    response.setHeader('Connection', 'close');
    sendError(response, rejection ?? error);
  }

  /** Responds to a message that is no request, and logs it. */
  private readonly respond = async (request: Request, response: Response, error: ServiceError) => {
    const { socket, state } = request;
    const clientAddress = loggedAddress(socket.remoteAddress, this.settings.logging.clientAddress);
    await this.reject(request, response, error);
    const { status: sent, code } = state.failure ?? error;
    const status = socket.destroyed ? 499 : sent;
    this.logger.info({ requestId: state.id, status, code, clientAddress }, 'malformed request');
  };
}
