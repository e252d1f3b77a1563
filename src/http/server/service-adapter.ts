import http from 'node:http';
import { parse as parseQuery, stringify as writeQuery } from 'node:querystring';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { createExpressMessages, type ExpressMessages } from './express-messages.js';
import type { LinkBase } from '../routing/link-base.js';
import { allowPrivateCaching, sendJson, sendNothing } from '../response/send-json.js';
import { jsonText } from '../response/json-text.js';
import { Page, SerializedJson } from '../response/handler-result.js';
import { hasBody } from '../request/request-context.js';
import type { Request, Response } from '../request/request.js';
import { type ConnectionBounds, Connections } from './connections.js';
import { BatchedWrites } from './batched-writes.js';
import { lingerAfterResponse } from './lingering-close.js';

/** How often Node checks for request timeouts. A 408 can be late by this time. */
const CONNECTIONS_CHECK_MS = 1_000;

/** Express with exact paths, lossless JSON, limited connections and fast creation of messages. */
export class ServiceAdapter extends ExpressAdapter {
  private readonly express: ExpressMessages;
  private endsConnections = false;
  private readonly writes = new BatchedWrites();

  readonly connections: Connections;

  /**
   * @param linkBase the prefix of URLs in Link headers
   * @param bounds the limits on client connections
   */
  constructor(
    private readonly linkBase: LinkBase,
    bounds: ConnectionBounds,
  ) {
    const express = createExpressMessages((response) => this.beforeHead(response));
    express.app.set('case sensitive routing', true);
    express.app.set('strict routing', true);
    // No limit: Node would ignore parameters after the first 1,000. The size of the head is
    // limited.
    express.app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }));
    express.app.set('x-powered-by', false);
    // sendJson sets the ETag.
    express.app.set('etag', false);
    super(express.app);
    this.express = express;
    this.connections = new Connections(bounds, (address) => {
      const trusts = express.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
      return trusts(address, 0);
    });
  }

  /** Overrides ExpressAdapter.initHttpServer to set the message classes and the limits. */
  override initHttpServer(): void {
    const { app, IncomingMessage, ServerResponse } = this.express;
    const server = http.createServer(
      {
        IncomingMessage,
        ServerResponse,
        // ProtocolErrors rejects these requests with an Error body.
        requireHostHeader: false,
        connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      },
      this.connections.bounded((request, response) => {
        makeRoutable(request);
        app(request, response);
      }) as http.RequestListener,
    );
    // A client may end its side of the connection after its request and wait for the response.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.on('connection', (socket) => this.writes.hold(socket));
    this.connections.attach(server);
    this.httpServer = server;
  }

  /** From now on, each connection closes after its next response. */
  endConnections(): void {
    this.endsConnections = true;
  }

  /** Closes the connections without a request in progress, including unused ones. */
  closeIdleConnections(): void {
    // Node treats a connection as idle even while BatchedWrites still holds its response.
    this.writes.flush();
    (this.httpServer as http.Server).closeIdleConnections();
    this.connections.closeUnused();
  }

  private beforeHead(response: Response): void {
    response.req.slot?.release();
    if (this.endsConnections) response.setHeader('Connection', 'close');
    // A handler with `@Res()` that sets no caching rules sends its response itself.
    if (!response.hasHeader('cache-control')) response.setHeader('Cache-Control', 'no-store');
    // The client is still sending a body that the service does not read.
    if (!response.req.complete && hasBody(response.req)) lingerAfterResponse(response);
    if (response.getHeader('connection') === 'close') {
      this.connections.stopRequests(response.req.socket);
    }
  }

  /**
   * Overrides ExpressAdapter.reply to send the result of a handler as JSON. A handler that returns
   * undefined sends no body. Only a StreamableFile has a media type of its own.
   */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    // beforeHead does not run if the client has disconnected.
    response.req.slot?.release();
    // The response deadline has passed, and the service has sent a 503.
    if (response.headersSent) return undefined;
    if (statusCode !== undefined) response.statusCode = statusCode;
    const request = response.req;
    request.checkResult?.(body);
    if (body instanceof StreamableFile) {
      if (response.statusCode === 200 && !response.hasHeader('cache-control')) {
        allowPrivateCaching(response);
      }
      return super.reply(response, body, statusCode);
    }
    if (body instanceof SerializedJson) {
      for (const [name, value] of Object.entries(body.headers)) response.setHeader(name, value);
    }
    if (body === undefined || response.statusCode === 204) {
      sendNothing(response);
    } else if (body instanceof Page) {
      // In addition to the Link of a deprecated route.
      if (body.next) response.appendHeader('Link', this.nextLink(request, body.next));
      sendJson(request, response, jsonText(body.items));
    } else if (body instanceof SerializedJson) {
      if (body.text === '') sendNothing(response);
      else sendJson(request, response, body.text);
    } else {
      sendJson(request, response, jsonText(body));
    }
    return undefined;
  }

  /** Overrides ExpressAdapter.redirect, which also sends an HTML page. */
  override redirect(response: Response, statusCode: number, url: string): void {
    response.status(statusCode).location(url);
    sendNothing(response);
  }

  /** Returns the `Link` header (RFC 8288). */
  private nextLink(request: Request, next: NonNullable<Page<unknown>['next']>): string {
    return `<${this.linkBase.urlOf(request.path)}?${writeQuery(next)}>; rel="next"`;
  }
}

/** A path that matches no route. The catch-all then handles targets that cannot be routed. */
const UNROUTABLE = '/.unroutable';

/** Visible ASCII without `#`: the characters that RFC 9112 allows in a path and query. */
const ORIGIN_FORM = /^\/[!"$-~]*$/;

/**
 * Sets the URL that the router reads, and keeps the request target as `originalUrl`. Call it before
 * Express handles the request: Express responds with HTML to a URL that it cannot parse, before the
 * first middleware.
 */
function makeRoutable(request: Request): void {
  request.originalUrl = request.url;
  request.url = routableUrl(request.url);
}

/**
 * Returns the path and query of a request target in origin form or absolute form (RFC 9112, section
 * 3.2), otherwise a path that matches no route. For a path that cannot be decoded, the router
 * would send a response of its own, without guards and rate limit headers.
 */
function routableUrl(target: string): string {
  const url = target.startsWith('/') ? target : pathOfAbsoluteForm(target);
  if (!ORIGIN_FORM.test(url)) return UNROUTABLE;
  return url.includes('%') && !decodes(url) ? UNROUTABLE : url;
}

function pathOfAbsoluteForm(target: string): string {
  const match = /^https?:\/\/[^/?#]+(\/[^#]*)?$/i.exec(target);
  return match ? (match[1] ?? '/') : UNROUTABLE;
}

function decodes(url: string): boolean {
  const query = url.indexOf('?');
  try {
    decodeURIComponent(query < 0 ? url : url.slice(0, query));
    return true;
  } catch {
    return false;
  }
}
