import { Inject, Injectable } from '@nestjs/common';
import { Histogram } from 'prom-client';
import { loggedCaller } from './access/authenticator.js';
import { keyForms } from './config/key-forms.js';
import { Settings } from './config/settings.js';
import type { ServiceError } from './errors/service-error.js';
import { loggedAddress } from './http/request/address.js';
import { routeOf, type Request, type Response } from './http/request/request.js';
import type { ResponseObserver } from './http/response/response-observers.js';
import { describeCause, errorDetails } from './errors/error-details.js';
import { LOGGER, maskedKey, type ServiceLogger } from './logging/logger.js';
import { ServiceMetrics } from './metrics/service-metrics.js';

/** Callers can invent methods. As OpenTelemetry specifies, all others share one label. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/**
 * Logs and counts every request once, when its response is sent or its connection has closed, with 499
 * if the head of the response was not written. The line has no query, no body and no API key.
 */
@Injectable()
export class AccessLog implements ResponseObserver {
  private readonly keyForms = keyForms(this.settings.product.keyPrefix);
  private readonly maskedKey = maskedKey(this.settings.product.keyPrefix);
  private readonly clientAddress = this.settings.logging.clientAddress;

  private readonly requests = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time from the end of a request head to the end of its response',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.metrics.registry],
  });

  constructor(
    @Inject(LOGGER) private readonly logger: ServiceLogger,
    private readonly metrics: ServiceMetrics,
    private readonly settings: Settings,
  ) {}

  onClose(request: Request, response: Response): void {
    const { state } = request;
    const { failure } = state;
    const durationMs = performance.now() - state.receivedAt;
    const route = routeOf(request);
    const status = response.headersSent ? response.statusCode : 499;
    const method = METHODS.has(request.method) ? request.method : '_OTHER';
    const labels = {
      http_request_method: method,
      http_route: route,
      http_response_status_code: status,
    };
    this.requests.observe(labels, durationMs / 1000);
    const hasCause = failure && (failure.status >= 500 || failure.cause !== undefined);
    const level = levelOf(route, failure?.status ?? status, hasCause);
    if (!this.logger.isLevelEnabled(level)) return;
    const caller = loggedCaller(state);
    const path = PARAMETER.test(route) ? this.loggedPath(request.originalUrl) : route;
    // Without the message of a feature, which can contain values of the caller.
    const rules = failure?.invalidProperties.map((it) => `${it.property}: ${it.rule}`).join(', ');
    this.logger.writeLine(level, {
      requestId: state.id,
      traceId: state.traceId,
      method: request.method,
      path,
      route,
      status,
      code: failure?.code,
      reason: rules || undefined,
      durationMs: Math.round(durationMs * 1000) / 1000,
      ownerId: caller?.ownerId,
      keyId: caller?.keyId,
      clientAddress: loggedAddress(state.clientAddress, this.clientAddress),
      replayed: response.hasHeader('idempotent-replayed') || undefined,
      aborted: !response.writableFinished || undefined,
      ...(hasCause && causeOf(failure, level)),
      msg: 'request',
    });
  }

  /**
   * Returns the path as sent, without user information, query and fragment, which can contain secrets.
   * Bytes outside of ASCII are percent-encoded, because they can be control characters of a terminal.
   */
  private loggedPath(target: string): string {
    const path = target.replace(AUTHORITY, '').split(/[?#]/, 1).join() || '/';
    // Decoded to find an API key, and masked before the path is shortened.
    const decoded = path.replace(ENCODED, (_, hex: string) => decodeURIComponent(`%${hex}`));
    const { inText, digitsInText } = this.keyForms;
    const masked = decoded.replace(path.includes('%') ? digitsInText : inText, this.maskedKey);
    const hexOf = (byte: string) => Buffer.from(byte, 'latin1').toString('hex').toUpperCase();
    return (masked === decoded ? path : masked)
      .slice(0, MAX_PATH_LENGTH)
      .replace(/[^\x21-\x7e]/g, (byte) => `%${hexOf(byte)}`);
  }
}

/** A route without parameters is the path of its requests. */
const PARAMETER = /[:*{]|^unmatched$/;
const MAX_PATH_LENGTH = 300;
/** A percent-encoded character of an API key, encoded once or more often. */
const ENCODED = /%(?:25)*(3\d|[46][1-9a-f]|[57][\da]|5f)/gi;
/** The scheme and the authority of a request target, also of one that begins with `//user@`. */
const AUTHORITY = /^(?:[a-z][a-z\d+.-]*:\/\/|\/\/(?=\/*[^/?#]*@))(?:\/*[^/?#]*@)?[^/?#]*/i;

function levelOf(route: string, status: number, hasCause = false) {
  if (status >= 500 && status !== 503) return 'error';
  if (route.startsWith('/health/')) return 'debug';
  return status === 503 || hasCause ? 'warn' : 'info';
}

/** Returns one line of text below `error`, because in an outage all requests have the same cause. */
function causeOf(failure: ServiceError, level: string): object {
  const cause = failure.cause ?? failure;
  return level === 'error' ? { err: errorDetails(cause) } : { cause: describeCause(cause) };
}
