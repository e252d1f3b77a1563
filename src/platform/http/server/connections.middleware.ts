import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable, Logger, type NestMiddleware, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import { Settings } from '../../config/settings.js';
import type { ServiceError } from '../../errors/service-error.js';
import { ignoreInput } from '../request/input.js';
import { hasBody, type NextFunction, type Request, type Response } from '../request/request.js';
import { ResponseObservers } from '../response/response-observers.js';
import { watchParser } from './express-messages.js';
import { HttpAdapter } from './http-adapter.js';
import { lingerAfterResponse } from './lingering-close.js';

const CHECK_INTERVAL_MS = 500;
const LOG_INTERVAL_MS = 60_000;

/**
 * Tracks the connections of the main listener and enforces their limits. A connection has one
 * request in progress. Over a limit, the service closes a connection that waits for its client, or
 * else the new one.
 */
@Injectable()
export class ConnectionsMiddleware implements NestMiddleware, OnModuleInit {
  private readonly logger = new Logger(ConnectionsMiddleware.name);
  /** The open connections, with the response to the request in progress until it is completely sent. */
  private readonly responses = new Map<Socket, Response | undefined>();
  /** Connections without a request in progress, longest idle first. */
  private readonly idle = new Set<Socket>();
  /** Kept, because a new iterator walks over the places of all connections that were removed before. */
  private longestIdle = this.idle.values();

  /** The number of closed connections by limit. */
  readonly closed = {
    connections: 0,
    pipelined_requests: 0,
    unsent_responses: 0,
    stalled: 0,
  };
  /** The number of connections closed over MAX_CONNECTIONS that the log has, and since when. */
  private logged = { connections: 0, atMs: -Infinity };

  constructor(
    private readonly settings: Settings,
    private readonly host: HttpAdapterHost,
    private readonly observers: ResponseObservers,
  ) {}

  get size(): number {
    return this.responses.size;
  }

  /** Undefined in an application without a server. */
  get server(): Server | undefined {
    return (this.host.httpAdapter as AbstractHttpAdapter<Server> | undefined)?.getHttpServer();
  }

  /**
   * Observes the connections of the server until it closes.
   *
   * @throws Error for an application with another adapter, whose routes would not work
   */
  onModuleInit(): void {
    const { server, host } = this;
    if (!server) return;
    if (!(host.httpAdapter instanceof HttpAdapter))
      throw new Error('The platform needs its own HTTP adapter. In tests, use startTestingApp().');
    server.on('connection', (socket: Socket) => {
      watchParser(socket);
      if (!this.makeRoom()) return void socket.destroy();
      this.responses.set(socket, undefined);
      this.idle.add(socket);
      socket.once('close', () => this.remove(socket));
    });
    // An idle connection has timed out, or the client does not read its response.
    server.on('timeout', (socket: Socket) => {
      if (!this.requestOf(socket)) return void socket.destroy();
      this.closed.stalled++;
      socket.resetAndDestroy();
    });
    this.reportOpenFilesLimit();
    const check = (): void => {
      this.logClosedConnections();
      this.boundUnsentBytes();
      this.resetInvalidCallers();
    };
    const timer = setInterval(check, CHECK_INTERVAL_MS).unref();
    server.once('close', () => clearInterval(timer));
  }

  /**
   * Processes one request of a connection at a time. If a client sends another one before the
   * response is complete (pipelining), it is not processed, and the connection closes after the
   * response: the client repeats it on another connection (RFC 9112, section 9.3.2).
   */
  use(request: Request, response: Response, next: NextFunction): void {
    const { socket } = request;
    // The connection is closed, or closes after the previous response.
    if (!this.responses.has(socket) || !socket.writable) return;
    const inProgress = this.responses.get(socket);
    if (inProgress) {
      this.closed.pipelined_requests++;
      ignoreInput(request);
      return lingerAfterResponse(inProgress);
    }
    this.responses.set(socket, response);
    this.idle.delete(socket);
    response.on('close', () => this.end(response));
    next();
  }

  /** Returns the request in progress of a connection. */
  requestOf(socket: Socket): Request | undefined {
    return this.responses.get(socket)?.req;
  }

  /**
   * Closes the connections on which no byte has arrived yet, and event streams, which would not end by
   * themselves. The clients of streams connect again.
   */
  closeUnusedAndStreams(): void {
    for (const socket of this.idle) if (socket.bytesRead === 0) socket.destroy();
    for (const [socket, response] of this.responses)
      if (response && isEventStream(response)) socket.destroy();
  }

  /** Resets the uploads and event streams whose API key is no longer valid. */
  private resetInvalidCallers(): void {
    for (const [socket, response] of this.responses) {
      if (!response) continue;
      const { callerCheck, isBodyAwaited } = response.req.state;
      // BodyGuard checks the caller of a body that it waits for, and can respond.
      const isUpload = hasBody(response.req) && !response.req.complete && !isBodyAwaited;
      if (!callerCheck || !(isUpload || isEventStream(response))) continue;
      callerCheck.checkAgain(response.req).catch((error: unknown) => {
        // The next lookup may succeed.
        if ((error as ServiceError).code !== 'service_unavailable') socket.resetAndDestroy();
      });
    }
  }

  closeAll(): void {
    for (const socket of this.responses.keys()) socket.destroy();
  }

  private end(response: Response): void {
    const { req: request } = response;
    if (this.responses.has(request.socket)) {
      this.responses.set(request.socket, undefined);
      this.idle.add(request.socket);
    }
    this.observers.onClose(request, response);
  }

  /** Returns whether there is room for a connection, after closing another one if necessary. */
  private makeRoom(): boolean {
    if (this.size < this.settings.bounds.maxConnections) return true;
    this.closed.connections++;
    const longestIdle = this.findLongestIdle();
    const closable = longestIdle ?? this.findWaiting();
    if (!closable) return false;
    this.remove(closable);
    if (longestIdle) longestIdle.destroy();
    else closable.resetAndDestroy();
    return true;
  }

  /** Returns a connection that must be closed. */
  private findLongestIdle(): Socket | undefined {
    const { done, value } = this.longestIdle.next();
    // It has ended, and would not find those that are added later.
    if (done) this.longestIdle = this.idle.values();
    return value;
  }

  private findWaiting(): Socket | undefined {
    for (const [socket, response] of this.responses) {
      if (response && waitsForClient(response)) return socket;
    }
    return undefined;
  }

  private remove(socket: Socket): void {
    this.responses.delete(socket);
    this.idle.delete(socket);
  }

  private reportOpenFilesLimit(): void {
    const { wantedConnections, maxConnections, openFiles } = this.settings.bounds;
    if (maxConnections === wantedConnections) return;
    this.logger.warn(
      `MAX_CONNECTIONS is ${wantedConnections}, but the limit of open files is ${openFiles} (ulimit -n): the service accepts ${maxConnections} connections`,
    );
  }

  /** Logs at most one line per minute. */
  private logClosedConnections(): void {
    const { closed, logged } = this;
    const count = closed.connections - logged.connections;
    if (count === 0 || performance.now() - logged.atMs < LOG_INTERVAL_MS) return;
    this.logged = { connections: closed.connections, atMs: performance.now() };
    const { maxConnections } = this.settings.bounds;
    this.logger.warn(`Limit reached: ${maxConnections} connections. ${count} have been closed`);
  }

  /** Resets connections over MAX_UNSENT_MEBIBYTES: without a valid API key first, then by age. */
  private boundUnsentBytes(): void {
    const hasKey = (response?: Response) => Number(response?.req.state.caller?.kind === 'key');
    // This process buffers these bytes until the client reads them.
    const bytesOf = (socket: Socket, response?: Response) => (response ?? socket).writableLength;
    const receivedAt = (response?: Response) => response?.req.state.receivedAt ?? 0;
    const unsent = [...this.responses].filter((entry) => bytesOf(...entry) > 0);
    unsent.sort(([, a], [, b]) => hasKey(b) - hasKey(a) || receivedAt(b) - receivedAt(a));
    let total = 0;
    for (const [socket, response] of unsent) {
      total += bytesOf(socket, response);
      if (total <= this.settings.bounds.maxUnsentBytes) continue;
      this.closed.unsent_responses++;
      // Without a reset, the kernel would keep its unsent bytes for minutes.
      socket.resetAndDestroy();
    }
  }
}

function isEventStream(response: Response): boolean {
  return response.getHeader('content-type') === 'text/event-stream';
}

/** Returns whether a response waits for the rest of the request, or for its client to read. */
function waitsForClient({ req, writableEnded, writableNeedDrain }: Response): boolean {
  return req.state.isBodyAwaited || writableEnded || writableNeedDrain;
}
