import { Inject, Injectable, type NestMiddleware } from '@nestjs/common';
import type { Logger } from 'pino';
import { loggedCaller } from './access/authenticator.js';
import type { ClientAddressForm } from './config/logging-settings.js';
import { Settings } from './config/settings.js';
import { logRequest } from './http/request/access-log.js';
import type { NextFunction, Request, Response } from './http/request/request.js';
import { LOGGER } from './logging/logger.js';
import { ServiceMetrics } from './metrics/service-metrics.js';

/** Logs and counts every request once, when its response is sent or its connection has closed. */
@Injectable()
export class AccessLog implements NestMiddleware {
  private readonly addressForm: ClientAddressForm;

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly metrics: ServiceMetrics,
    { logging }: Settings,
  ) {
    this.addressForm = logging.clientAddress;
  }

  use(request: Request, response: Response, next: NextFunction): void {
    response.on('close', () => {
      const durationMs = performance.now() - request.receivedAt;
      const caller = loggedCaller(request);
      logRequest(this.logger, this.addressForm, request, response, durationMs, caller);
      this.metrics.observeResponse(request, response, durationMs);
    });
    next();
  }
}
