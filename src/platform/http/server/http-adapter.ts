import http from 'node:http';
import { parse as parseQuery, stringify as writeQuery } from 'node:querystring';
import { StreamableFile, type Type } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { createExpressMessages } from './express-messages.js';
import { MAX_HEAD_BYTES, MAX_HEADERS } from '../../config/bounds.js';
import type { Settings } from '../../config/settings.js';
import { ServiceError } from '../../errors/service-error.js';
import { sendBody, sendError, sendNothing, sendNotModified } from '../response/send-body.js';
import { jsonText } from '../response/json-text.js';
import type { NextPage } from '../response/page.js';
import { ResponseObservers } from '../response/response-observers.js';
import { PublicUrl } from '../request/public-url.js';
import { hasBody, type Request, type Response } from '../request/request.js';
import { ApiVersions } from '../routing/api-versions.js';
import { lingerAfterResponse } from './lingering-close.js';

/** How often Node checks for request timeouts. A 408 can be late by this time. */
const CONNECTIONS_CHECK_MS = 1_000;

/** Express with exact paths, lossless JSON, limited connections and fast creation of messages. */
export class HttpAdapter extends ExpressAdapter {
  private readonly express;
  private observers: ResponseObservers | undefined;
  private publicUrl: PublicUrl | undefined;

  /** @param find returns a provider of the application, which is created after its adapter */
  constructor(
    private readonly settings: Settings,
    private readonly find: <Provider>(type: Type<Provider>) => Provider,
  ) {
    const express = createExpressMessages((response) => this.completeHead(response));
    express.app.set('case sensitive routing', true);
    express.app.set('strict routing', true);
    // No limit on their number: Node would ignore parameters after the first 1,000.
    express.app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }));
    express.app.set('x-powered-by', false);
    // sendBody sets the ETag.
    express.app.set('etag', false);
    express.app.set('trust proxy', settings.server.trustProxy);
    super(express.app);
    this.express = express;
  }

  /** Overrides ExpressAdapter.initHttpServer to set the message classes and the limits. */
  override initHttpServer(): void {
    const { app, IncomingMessage, ServerResponse } = this.express;
    const server = http.createServer(
      {
        IncomingMessage,
        ServerResponse,
        // ProtocolErrorsMiddleware rejects these requests with an Error body.
        requireHostHeader: false,
        // A second Host or Authorization makes the value invalid. Node would ignore it.
        joinDuplicateHeaders: true,
        maxHeaderSize: MAX_HEAD_BYTES,
        connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      },
      ((request: Request, response: Response) => {
        // Express responds with HTML to a URL that it cannot parse, before the first middleware.
        request.originalUrl = request.url;
        request.url = routableUrl(request.url);
        app(request, response);
      }) as http.RequestListener,
    );
    const limits = this.settings.server;
    Object.assign(server, {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      // While nothing arrives and nothing is read. It resets with each byte.
      timeout: limits.stalledConnectionTimeoutMs,
      // Node drops further headers, so that a head that never ends takes little memory. The one more
      // shows ProtocolErrorsMiddleware that there are too many.
      maxHeadersCount: MAX_HEADERS + 1,
      // A client may end its side of the connection after its request and wait for the response.
      httpAllowHalfOpen: true,
    });
    this.httpServer = server;
  }

  private completeHead(response: Response): void {
    const { req: request } = response;
    this.observers ??= this.find(ResponseObservers);
    this.observers.beforeHead(request, response);
    if (!response.hasHeader('cache-control')) setCacheControl(response);
    // The client is still sending a body that the service does not read. Or Node's parser loses
    // requests after this one and hides their errors, as it does after an Upgrade header.
    const isComplete = request.complete && !request.state.isInputIgnored;
    if ((!isComplete && hasBody(request)) || request.headers.upgrade !== undefined) {
      lingerAfterResponse(response);
    }
  }

  /** Overrides ExpressAdapter.reply to send the result of a handler as JSON or StreamableFile. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    // The response deadline has passed, and the service has sent a 503.
    if (response.headersSent)
      return body instanceof StreamableFile ? body.getStream().destroy() : undefined;
    if (statusCode !== undefined) response.statusCode = statusCode;
    const { req: request } = response;
    if (body instanceof StreamableFile) {
      if (sendNotModified(request, response)) return body.getStream().destroy();
      // Nest's handler responds with 400 and the path of the file.
      body.setErrorHandler((cause) =>
        sendError(response, new ServiceError('internal_error', undefined, { cause })),
      );
      return super.reply(response, body, statusCode);
    }
    if (response.statusCode === 204 || body === undefined) return sendNothing(response);
    const isText = typeof body === 'string' || body instanceof Uint8Array;
    // The handler declares another type than JSON.
    if (isText && response.hasHeader('content-type')) return sendBody(request, response, body);
    const next: NextPage[] = [];
    const text = jsonText(body, next);
    if (!next[0]) return sendBody(request, response, text);
    const url = `${this.base}${request.path}?${writeQuery(next[0])}`;
    // RFC 8288. In addition to the Link of a deprecated route.
    const link = `<${url}>; rel="next"`;
    response.appendHeader('Link', link);
    return sendBody(request, response, text, link);
  }

  /** The prefix of URLs in responses. */
  private get base(): string {
    this.publicUrl ??= this.find(PublicUrl);
    return this.publicUrl.value;
  }

  /** Overrides ExpressAdapter.setNotFoundHandler, whose error has no code of its own. */
  override setNotFoundHandler(): unknown {
    return this.use(() => {
      const docs = ` ${this.base}/openapi.json lists them, and ${this.base}/docs shows them.`;
      throw this.find(ApiVersions).routeNotFound(this.settings.server.docs ? docs : '');
    });
  }
}

/** Lets the caller, and no shared cache, store a 200 or 304, and ask whether it has changed. */
function setCacheControl(response: Response): void {
  const isCacheable = response.statusCode === 200 || response.statusCode === 304;
  response.setHeader('Cache-Control', isCacheable ? 'private, no-cache' : 'no-store');
  if (isCacheable) response.appendHeader('Vary', 'Authorization');
}

/** A path that matches only the catch-all route. */
const UNROUTABLE = '/.unroutable';

/** Visible ASCII without `#`: the characters that RFC 9112 allows in a path and query. */
const ORIGIN_FORM = /^\/[!"$-~]*$/;

const SCHEME_AND_AUTHORITY = /^https?:\/\/[^/?#]+/i;

/**
 * Returns the path and query of a request target in origin form or absolute form (RFC 9112, section
 * 3.2). For a path that cannot be decoded, the router would send a response of its own.
 */
function routableUrl(target: string): string {
  const url = target.startsWith('/') ? target : target.replace(SCHEME_AND_AUTHORITY, '') || '/';
  if (!ORIGIN_FORM.test(url)) return UNROUTABLE;
  try {
    if (url.includes('%')) decodeURIComponent(url.split('?', 1)[0] ?? '');
    return url;
  } catch {
    return UNROUTABLE;
  }
}
