import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable, type NestMiddleware, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express } from 'express';
import { Settings } from '../../config/settings.js';
import { clientNetwork } from '../request/request-context.js';
import type { NextFunction, Request, Response } from '../request/request.js';
import { ignoreInput, watchParser } from './ignored-input.js';
import { lingerAfterResponse } from './lingering-close.js';

interface Connection {
  readonly socket: Socket;
  /** The client's address; IPv6 addresses by /64 network. */
  readonly address: string;
  /** The response to the request in progress, until it is completely sent. */
  response: Response | undefined;
}

/** Is informed about each request that was processed. */
export interface ResponseObserver {
  onClose(request: Request, response: Response): void;
}

const CHECK_INTERVAL_MS = 500;
/** Open files for everything except client connections and connections to the database. */
const RESERVED_FILES = 96;

/**
 * Tracks the connections of the main listener and enforces their limits. A connection has one
 * request in progress. Over a limit, the service closes a connection that waits for its client, or
 * else the new one.
 */
@Injectable()
export class Connections implements NestMiddleware, OnModuleInit {
  private readonly bySocket = new Map<Socket, Connection>();
  private readonly byAddress = new Map<string, Set<Connection>>();
  /** Connections without a request in progress, longest idle first. */
  private readonly idle = new Set<Connection>();
  /** Called when the response to a request is sent or its connection has closed. Set by `createApp`. */
  observers: readonly ResponseObserver[] = [];

  /** As many as the settings and the limit of open files allow. */
  readonly maxConnections: number;
  private readonly maxConnectionsPerAddress: number;
  private readonly maxUnsentBytes: number;
  /** The number of closed connections by limit. */
  readonly closed = {
    connections: 0,
    connections_per_address: 0,
    pipelined_requests: 0,
    unsent_responses: 0,
    stalled: 0,
  };

  constructor(
    { bounds, database }: Settings,
    private readonly host: HttpAdapterHost,
  ) {
    const files = openFilesLimit() - RESERVED_FILES - database.poolSize;
    // Over this limit, the operating system would reject every new connection.
    this.maxConnections = Math.max(1, Math.min(bounds.maxConnections, files));
    this.maxConnectionsPerAddress =
      bounds.maxConnectionsPerAddress ?? Math.ceil(this.maxConnections / 2);
    this.maxUnsentBytes = bounds.maxUnsentBytes;
  }

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
    const { remoteAddress = '' } = socket;
    const address = clientNetwork(remoteAddress);
    const sameAddress = this.byAddress.get(address) ?? new Set();
    const express = this.host.httpAdapter.getInstance<Express>();
    // Many clients share the address of a trusted proxy.
    const isProxy = express.get('trust proxy fn') as (address: string, hop: number) => boolean;
    const maxOfAddress = isProxy(remoteAddress, 0) ? Infinity : this.maxConnectionsPerAddress;
    // The address first: a client over its own limit must not close connections of others.
    const hasRoom =
      remoteAddress !== '' &&
      this.makeRoom('connections_per_address', sameAddress.size, maxOfAddress, sameAddress) &&
      this.makeRoom('connections', this.size, this.maxConnections, this.idleFirst());
    if (!hasRoom) return void socket.destroy();
    const connection: Connection = { socket, address, response: undefined };
    this.bySocket.set(socket, connection);
    this.byAddress.set(address, sameAddress.add(connection));
    this.idle.add(connection);
    socket.once('close', () => this.remove(connection));
  }

  private *idleFirst(): Iterable<Connection> {
    yield* this.idle;
    yield* this.bySocket.values();
  }

  /** Returns whether there is room for a connection, after closing a candidate if necessary. */
  private makeRoom(
    bound: 'connections' | 'connections_per_address',
    size: number,
    max: number,
    candidates: Iterable<Connection>,
  ): boolean {
    if (size < max) return true;
    this.closed[bound]++;
    for (const candidate of candidates) {
      const { response } = candidate;
      // One that waits for its client can go.
      if (response && !waitsForClient(response)) continue;
      this.remove(candidate);
      candidate.socket.destroy();
      return true;
    }
    return false;
  }

  private remove(connection: Connection): void {
    const { socket, address } = connection;
    if (!this.bySocket.delete(socket)) return;
    this.idle.delete(connection);
    const sameAddress = this.byAddress.get(address);
    sameAddress?.delete(connection);
    if (sameAddress?.size === 0) this.byAddress.delete(address);
  }

  /** Keeps the newest connections whose responses are within the limit. Closes the others. */
  private boundUnsentBytes(): void {
    let total = 0;
    for (const { socket, response } of [...this.bySocket.values()].reverse()) {
      // What this process buffers until the client reads it.
      const bytes = (response ?? socket).writableLength;
      total += bytes;
      if (bytes === 0 || total <= this.maxUnsentBytes) continue;
      this.closed.unsent_responses++;
      socket.destroy();
    }
  }
}

/** Returns whether a response waits for the rest of the request, or for its client to read. */
function waitsForClient({ req, writableEnded, writableNeedDrain }: Response): boolean {
  return req.waitsForBody === true || writableEnded || writableNeedDrain;
}

/** Returns how many files the process can open. Node raises the limit at start. */
function openFilesLimit(): number {
  // Windows has no such limit.
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files: { soft: number | 'unlimited' } };
  };
  return Number(userLimits?.open_files.soft) || Infinity;
}
