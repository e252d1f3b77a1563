import { randomInt } from 'node:crypto';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable, type NestMiddleware, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express } from 'express';
import { Settings } from '../../config/settings.js';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { serviceUnavailable } from '../../errors/service-error.js';
import { clientNetwork } from '../request/request-context.js';
import type { NextFunction, Request, Response } from '../request/request.js';
import { sendError } from '../response/send-json.js';
import { Arrivals } from './arrivals.js';
import type { HttpAdapter } from './http-adapter.js';
import { lingerAfterResponse } from './lingering-close.js';

interface Connection {
  readonly socket: Socket;
  /** The client's address; IPv6 addresses by /64 network. */
  readonly address: string;
  /** The response to the request in progress, until it is completely sent. */
  response: Response | undefined;
}

const CHECK_INTERVAL_MS = 500;
/** Open files for everything except client connections and connections to the database. */
const RESERVED_FILES = 96;
/** Random, so that the clients do not return all at once. */
const SHED_PAUSE_MS = { min: 400, max: 900 };

/**
 * Tracks the connections of the main listener and enforces their limits. A connection has one
 * request in progress. Over a limit, the service closes a connection that waits for its client, or
 * else the new one.
 */
@Injectable()
export class Connections implements NestMiddleware, OnModuleInit {
  private readonly arrivals = new Arrivals();
  private readonly bySocket = new Map<Socket, Connection>();
  private readonly byAddress = new Map<string, Set<Connection>>();
  /** Connections without a request in progress, longest idle first. */
  private readonly idle = new Set<Connection>();
  /** The number of admitted requests without a response, which a slow reader does not increase. */
  inProgress = 0;

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
    const files = openFilesLimit() - RESERVED_FILES - database.poolSize - database.lookupPoolSize;
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
    const adapter = this.host.httpAdapter as unknown as HttpAdapter;
    const server = adapter.getHttpServer() as Server;
    adapter.onHead = (request) => this.endRequest(request);
    server.on('connection', (socket) => this.add(socket));
    // An idle connection has timed out, or the client does not read its response.
    server.on('timeout', (socket: Socket) => {
      if (this.requestOf(socket)) this.closed.stalled++;
      socket.destroy();
    });
    this.arrivals.attach(server);
    const timer = setInterval(() => this.check(performance.now()), CHECK_INTERVAL_MS).unref();
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
      stopParsing(socket);
      socket.pause();
      lingerAfterResponse(connection.response);
      return;
    }
    connection.response = response;
    this.idle.delete(connection);
    response.on('close', () => {
      connection.response = undefined;
      this.endRequest(request);
      if (this.bySocket.has(socket)) this.idle.add(connection);
    });
    this.arrivals.start(request, response, next);
  }

  private endRequest(request: Request): void {
    if (request.isInProgress) this.inProgress--;
    request.isInProgress = false;
  }

  /** Returns the request in progress of a connection. */
  requestOf(socket: Socket): Request | undefined {
    return this.bySocket.get(socket)?.response?.req;
  }

  /**
   * Stops reading from the connection of a shed request for a time, so that a client that ignores
   * `Retry-After` costs little. Other clients share the connections of trusted proxies.
   */
  pauseReading({ socket }: Request): void {
    if (socket.destroyed || this.isTrustedProxy(socket.remoteAddress ?? '')) return;
    socket.pause();
    const resume = (): void => {
      clearTimeout(timer);
      socket.off('close', resume).resume();
    };
    const timer = setTimeout(resume, randomInt(SHED_PAUSE_MS.min, SHED_PAUSE_MS.max)).unref();
    socket.once('close', resume);
  }

  /** Closes the connections on which no byte has arrived yet. */
  closeUnused(): void {
    for (const { socket } of this.idle) if (socket.bytesRead === 0) socket.destroy();
  }

  closeAll(): void {
    for (const socket of this.bySocket.keys()) socket.destroy();
  }

  /** Whether an address belongs to a proxy, which many clients share. */
  private isTrustedProxy(address: string): boolean {
    const express = this.host.httpAdapter.getInstance<Express>();
    const trusts = express.get('trust proxy fn') as (address: string, hop: number) => boolean;
    return trusts(address, 0);
  }

  private add(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    const address = clientNetwork(remoteAddress);
    const sameAddress = this.byAddress.get(address) ?? new Set();
    const isProxy = this.isTrustedProxy(remoteAddress);
    const maxOfAddress = isProxy ? Infinity : this.maxConnectionsPerAddress;
    // The address first: a client over its own limit must not close connections of others.
    const hasRoom =
      remoteAddress !== '' &&
      this.makeRoom('connections_per_address', sameAddress.size, maxOfAddress, sameAddress) &&
      this.makeRoom('connections', this.size, this.maxConnections, this.idleFirst());
    if (!hasRoom) {
      socket.destroy();
      return;
    }
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
      // One whose client does not read its response can go.
      if (response && !response.writableEnded && !response.writableNeedDrain) continue;
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

  private check(nowMs: number): void {
    let unsentBytes = 0;
    const unsent: { socket: Socket; bytes: number }[] = [];
    for (const { socket, response } of this.bySocket.values()) {
      if (response && !response.headersSent && nowMs >= (response.req.dueAt ?? Infinity)) {
        const { responseDeadline } = PUBLIC_MESSAGES;
        const cause = 'response deadline: the handler has sent no response';
        sendError(response, serviceUnavailable(cause, responseDeadline));
      }
      // What this process buffers until the client reads it.
      const bytes = (response ?? socket).writableLength;
      if (bytes === 0) continue;
      unsentBytes += bytes;
      unsent.push({ socket, bytes });
    }
    // Closes the oldest until the others are within the limit.
    for (const { socket, bytes } of unsent) {
      if (unsentBytes <= this.maxUnsentBytes) break;
      unsentBytes -= bytes;
      this.closed.unsent_responses++;
      socket.destroy();
    }
  }
}

/** Returns how many files the process can open. Node raises the limit at start. */
function openFilesLimit(): number {
  // Windows has no such limit.
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files: { soft: number | 'unlimited' } };
  };
  return Number(userLimits?.open_files.soft) || Infinity;
}

/** The value by which a handler of Node's HTTP parser makes it ignore the rest of what it has read. */
const IGNORE_REST = 2;

/**
 * Stops Node's HTTP parser within the bytes that it has already read.
 * This saves memory: up to 64 KiB of further requests would become thousands of objects that stay
 * until the connection closes.
 * It relies on `socket.parser.onIncoming`, which Node calls for each request and does not document.
 * If a Node release changes it, test/bounds/attacks.test.ts fails: further requests are still not
 * processed, but they take memory.
 */
function stopParsing(socket: Socket): void {
  const { parser } = socket as Socket & { parser?: { onIncoming: () => number } };
  if (parser) parser.onIncoming = () => IGNORE_REST;
}
