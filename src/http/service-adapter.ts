import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { parse as parseQuery, stringify as writeQuery } from 'node:querystring';
import { StreamableFile, type NestApplicationOptions } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { bornExpress, type BornExpress } from './born-express.js';
import { serviceUnavailable } from '../errors/service-error.js';
import { JsonAnswer } from './json-answer.js';
import { sendError, sendJson } from './json-response.js';
import { jsonText } from './json-text.js';
import { Page } from './page.js';
import type { NextFunction, Request, Response } from './request.js';
import { makeRoutable } from './routable-url.js';
import { TurnWrites } from './turn-writes.js';
import { closeAfterUnreadBody } from './unread-body.js';

/** How often the server looks for requests that take too long; they are answered up to this late. */
const CONNECTIONS_CHECK_MS = 1_000;

/** Express as this service runs it: fast to create messages, exact in its paths, lossless in its JSON. */
export class ServiceAdapter extends ExpressAdapter {
  private readonly born: BornExpress;
  private closing = false;
  private endsConnections = false;
  private readonly sockets = new Set<Socket>();
  private readonly writes = new TurnWrites();
  private forceCloseConnections = false;

  /** @param linkBase what the absolute URLs of Link fields begin with, '' for relative references */
  constructor(private readonly linkBase: string) {
    const born = bornExpress((response) => this.decideOnConnection(response));
    born.app.set('case sensitive routing', true);
    born.app.set('strict routing', true);
    // Without the default's bound, beyond which parameters would be ignored; the head's size bounds them.
    born.app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }));
    born.app.set('x-powered-by', false);
    // Written once, by sendJson, instead of as a hash of every body.
    born.app.set('etag', false);
    super(born.app);
    this.born = born;
  }

  /** As the original, with this application's message classes and the answers to what HTTP forbids. */
  override initHttpServer(options: NestApplicationOptions = {}): void {
    const { app, IncomingMessage, ServerResponse } = this.born;
    const serverOptions = {
      IncomingMessage,
      ServerResponse,
      // Answered in the Error shape instead, by the steps before the router.
      requireHostHeader: false,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
    };
    const listener = (request: http.IncomingMessage, response: http.ServerResponse): void => {
      makeRoutable(request as Request);
      app(request as Request, response as Response);
    };
    this.httpServer = options.httpsOptions
      ? https.createServer({ ...options.httpsOptions, ...serverOptions }, listener)
      : http.createServer(serverOptions, listener);
    // A client may end its side after its request, and still waits for the answer.
    Object.assign(this.httpServer as http.Server, { httpAllowHalfOpen: true });
    (this.httpServer as http.Server).on('connection', (socket) => {
      this.writes.hold(socket);
      this.sockets.add(socket.once('close', () => this.sockets.delete(socket)));
    });
    if (options.return503OnClosing) {
      app.use((_request: Request, response: Response, next: NextFunction) => {
        if (!this.closing) return next();
        response.setHeader('Connection', 'close');
        sendError(response, serviceUnavailable('closing'));
      });
    }
    this.forceCloseConnections = options.forceCloseConnections === true;
  }

  /** From now on each connection ends with its next answer, those that are being worked on included. */
  endConnections(): void {
    this.endsConnections = true;
  }

  /** Closes the connections on which nothing is under way, those included that were never used. */
  closeIdleConnections(): void {
    // To the server a connection is idle when its answer is written, though not yet out.
    this.writes.flush();
    (this.httpServer as http.Server).closeIdleConnections();
    for (const socket of this.sockets) if (socket.bytesRead === 0) socket.destroy();
  }

  private decideOnConnection(response: Response): void {
    if (this.endsConnections) response.setHeader('Connection', 'close');
    closeAfterUnreadBody(response.req, response);
  }

  override beforeClose(): void {
    this.closing = true;
    super.beforeClose();
  }

  override close(): Promise<unknown> | undefined {
    this.closing = true;
    if (this.forceCloseConnections) (this.httpServer as http.Server).closeAllConnections();
    return super.close();
  }

  /** Writes what a handler returned: a page with its Link, JSON text as it is, an object or array as JSON. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    // Its deadline came first.
    if (response.headersSent) return undefined;
    if (!isJson(body)) return super.reply(response, body, statusCode);
    if (statusCode !== undefined) response.statusCode = statusCode;
    const request = response.req;
    if (body instanceof Page) {
      if (body.next) response.setHeader('Link', this.nextLink(request, body.next));
      sendJson(request, response, jsonText(body.items));
    } else if (body instanceof JsonAnswer) {
      for (const [name, value] of Object.entries(body.headers)) response.setHeader(name, value);
      sendJson(request, response, body.text);
    } else {
      sendJson(request, response, jsonText(body));
    }
    return undefined;
  }

  /** `Link` of RFC 8288; made of the route's own path and settings, never of the Host field. */
  private nextLink(request: Request, next: Readonly<Record<string, string>>): string {
    return `<${this.linkBase}${request.path}?${writeQuery(next)}>; rel="next"`;
  }
}

function isJson(body: unknown): body is object {
  return typeof body === 'object' && body !== null && !(body instanceof StreamableFile);
}
