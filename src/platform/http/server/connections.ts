import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable, type NestMiddleware, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Settings } from '../../config/settings.js';
import type { NextFunction, Request, Response } from '../request/request.js';
import { ignoreInput, watchParser } from './ignored-input.js';
import { lingerAfterResponse } from './lingering-close.js';

interface Connection {
  readonly socket: Socket;
  /** The response to the request in progress, until it is completely sent. */
  response: Response | undefined;
}

/** Is informed about each request that was processed. */
export interface ResponseObserver {
  onClose(request: Request, response: Response): void;
}

const CHECK_INTERVAL_MS = 500;

/**
 * Tracks the connections of the main listener and enforces their limits. A connection has one
 * request in progress. Over a limit, the service closes a connection that waits for its client, or
 * else the new one.
 */
@Injectable()
export class Connections implements NestMiddleware, OnModuleInit {
  private readonly bySocket = new Map<Socket, Connection>();
  /** Connections without a request in progress, longest idle first. */
  private readonly idle = new Set<Connection>();
  /** Called when the response to a request is sent or its connection has closed. Set by `createApp`. */
  observers: readonly ResponseObserver[] = [];

  /** The number of closed connections by limit. */
  readonly closed = {
    connections: 0,
    pipelined_requests: 0,
    unsent_responses: 0,
    stalled: 0,
  };

  constructor(
    private readonly settings: Settings,
    private readonly host: HttpAdapterHost,
  ) {}

  get size(): number {
    return this.bySocket.size;
  }

  /** Observes the connections of the server until it closes. */
  onModuleInit(): void {
    const server = this.host.httpAdapter.getHttpServer() as Server;
    server.on('connection', (socket: Socket) => {
      watchParser(socket);
      this.add(socket);
    });
    // An idle connection has timed out, or the client does not read its response.
    server.on('timeout', (socket: Socket) => {
      if (this.requestOf(socket)) this.closed.stalled++;
      socket.destroy();
    });
    const timer = setInterval(() => this.boundUnsentBytes(), CHECK_INTERVAL_MS).unref();
    server.once('close', () => clearInterval(timer));
  }

  /**
   * Processes one request of a connection at a time. If a client sends another one before the
   * response is complete (pipelining), it is not processed, and the connection closes after the
   * response: the client repeats it on another connection (RFC 9112, section 9.3.2).
   */
  use(request: Request, response: Response, next: NextFunction): void {
    const { socket } = request;
    const connection = this.bySocket.get(socket);
    // The connection is closed, or closes after the previous response.
    if (!connection || !socket.writable) return;
    if (connection.response) {
      this.closed.pipelined_requests++;
      ignoreInput(request);
      return lingerAfterResponse(connection.response);
    }
    connection.response = response;
    this.idle.delete(connection);
    response.on('close', () => this.end(response));
    next();
  }

  /** Returns the request in progress of a connection. */
  requestOf(socket: Socket): Request | undefined {
    return this.bySocket.get(socket)?.response?.req;
  }

  /** Closes the connections on which no byte has arrived yet. */
  closeUnused(): void {
    for (const { socket } of this.idle) if (socket.bytesRead === 0) socket.destroy();
  }

  closeAll(): void {
    for (const socket of this.bySocket.keys()) socket.destroy();
  }

  private end(response: Response): void {
    const { req: request } = response;
    const connection = this.bySocket.get(request.socket);
    if (connection) {
      connection.response = undefined;
      this.idle.add(connection);
    }
    for (const observer of this.observers) observer.onClose(request, response);
  }

  private add(socket: Socket): void {
    if (!this.makeRoom()) return void socket.destroy();
    const connection: Connection = { socket, response: undefined };
    this.bySocket.set(socket, connection);
    this.idle.add(connection);
    socket.once('close', () => this.remove(connection));
  }

  /** Returns whether there is room for a connection, after closing another one if necessary. */
  private makeRoom(): boolean {
    if (this.size < this.settings.bounds.maxConnections) return true;
    this.closed.connections++;
    const [longestIdle] = this.idle;
    const closable = longestIdle ?? this.findWaiting();
    if (!closable) return false;
    this.remove(closable);
    closable.socket.destroy();
    return true;
  }

  private findWaiting(): Connection | undefined {
    for (const connection of this.bySocket.values()) {
      if (connection.response && waitsForClient(connection.response)) return connection;
    }
    return undefined;
  }

  private remove(connection: Connection): void {
    this.bySocket.delete(connection.socket);
    this.idle.delete(connection);
  }

  /** Keeps the newest connections whose responses are within the limit. Closes the others. */
  private boundUnsentBytes(): void {
    let total = 0;
    for (const { socket, response } of [...this.bySocket.values()].reverse()) {
      // What this process buffers until the client reads it.
      const bytes = (response ?? socket).writableLength;
      total += bytes;
      if (bytes === 0 || total <= this.settings.bounds.maxUnsentBytes) continue;
      this.closed.unsent_responses++;
      socket.destroy();
    }
  }
}

/** Returns whether a response waits for the rest of the request, or for its client to read. */
function waitsForClient({ req, writableEnded, writableNeedDrain }: Response): boolean {
  return req.waitsForBody === true || writableEnded || writableNeedDrain;
}
