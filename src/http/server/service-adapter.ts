import http from 'node:http';
import { parse as parseQuery, stringify as writeQuery } from 'node:querystring';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { createMessageClasses, type MessageClasses } from './express-messages.js';
import { sendJson } from '../response/send-json.js';
import { jsonText } from '../response/json-text.js';
import { Page, SerializedJson } from '../response/handler-result.js';
import type { Request, Response } from '../request/request.js';
import { type ConnectionBounds, Connections } from './connections.js';
import { makeRoutable } from '../routing/request-target.js';
import { BatchedWrites } from './batched-writes.js';
import { closeAfterUnreadBody } from './lingering-close.js';

/** How often the server looks for requests that take too long; they are answered up to this late. */
const CONNECTIONS_CHECK_MS = 1_000;

/** Express as this service runs it: fast to create messages, exact in its paths, lossless in its JSON. */
export class ServiceAdapter extends ExpressAdapter {
  private readonly born: MessageClasses;
  private endsConnections = false;
  private readonly writes = new BatchedWrites();

  readonly connections: Connections;

  /**
   * @param linkBase what the absolute URLs of Link headers begin with, '' for relative references
   * @param bounds how much client connections may hold
   */
  constructor(
    private readonly linkBase: string,
    bounds: ConnectionBounds,
  ) {
    const born = createMessageClasses((response) => this.beforeHead(response));
    born.app.set('case sensitive routing', true);
    born.app.set('strict routing', true);
    // Without the default's bound, beyond which parameters would be ignored; the head's size bounds them.
    born.app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }));
    born.app.set('x-powered-by', false);
    // Written once, by sendJson, instead of as a hash of every body.
    born.app.set('etag', false);
    super(born.app);
    this.born = born;
    this.connections = new Connections(bounds, (address) => {
      const trusts = born.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
      return trusts(address, 0);
    });
  }

  /** Overrides ExpressAdapter.initHttpServer: the server has this application's message classes and bounds. */
  override initHttpServer(): void {
    const { app, IncomingMessage, ServerResponse } = this.born;
    const server = http.createServer(
      {
        IncomingMessage,
        ServerResponse,
        // The steps before the router send this error in the Error shape.
        requireHostHeader: false,
        connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      },
      this.connections.bounded((request, response) => {
        makeRoutable(request);
        app(request, response);
      }) as http.RequestListener,
    );
    // A client may end its side after its request, and still waits for the response.
    Object.assign(server, { httpAllowHalfOpen: true });
    server.on('connection', (socket) => this.writes.hold(socket));
    this.connections.attach(server);
    this.httpServer = server;
  }

  /** From now on each connection closes after its next response, including those in progress. */
  endConnections(): void {
    this.endsConnections = true;
  }

  /** Closes the connections that have no request in progress, including those that were never used. */
  closeIdleConnections(): void {
    // The server takes a connection for idle when its response is written, even if it is not sent yet.
    this.writes.flush();
    (this.httpServer as http.Server).closeIdleConnections();
    this.connections.closeUnused();
  }

  private beforeHead(response: Response): void {
    response.req.slot?.release();
    if (this.endsConnections) response.setHeader('Connection', 'close');
    closeAfterUnreadBody(response.req, response);
    if (response.getHeader('connection') === 'close') {
      this.connections.stopRequests(response.req.socket);
    }
  }

  /** Writes what a handler returned: a page with its Link, JSON text as it is, an object or array as JSON. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    // The client may have disconnected: then no head is written.
    response.req.slot?.release();
    // Its deadline came first.
    if (response.headersSent) return undefined;
    if (!isJson(body)) return super.reply(response, body, statusCode);
    if (statusCode !== undefined) response.statusCode = statusCode;
    const request = response.req;
    if (body instanceof Page) {
      if (body.next) response.setHeader('Link', this.nextLink(request, body.next));
      sendJson(request, response, jsonText(body.items));
    } else if (body instanceof SerializedJson) {
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
