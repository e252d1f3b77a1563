import { randomInt } from 'node:crypto';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { clientNetwork } from '../request/request-context.js';
import type { Request, Response } from '../request/request.js';
import { Arrivals } from './arrivals.js';
import type { ConnectionBounds } from './connection-bounds.js';
import { lingerThenDestroy } from './lingering-close.js';

/** A client connection and its responses that are not completely sent. */
class Connection {
  /** Oldest first. */
  readonly responses = new Set<Response>();
  /** The service processes no further request of this connection. */
  isClosing = false;
  /** It starts no request either that has already arrived. */
  isStopped = false;
  private sentBytes = 0;
  private stalledSinceMs: number | undefined;

  /** @param address the client's address; IPv6 addresses by /64 network */
  constructor(
    readonly socket: Socket,
    readonly address: string,
  ) {}

  get isIdle(): boolean {
    return this.responses.size === 0;
  }

  get lastResponse(): Response | undefined {
    return [...this.responses].at(-1);
  }

  /** Whether the service handles no request of this connection. Responses may still be unread. */
  get isWaitingForClient(): boolean {
    for (const response of this.responses) if (!response.writableEnded) return false;
    return true;
  }

  /** Returns the bytes of responses that this process buffers until the client reads them. */
  unsentBytes(): number {
    if (this.isIdle) return this.socket.writableLength;
    let bytes = 0;
    // The length of the first response includes the buffer of the socket.
    for (const response of this.responses) bytes += response.writableLength;
    return bytes;
  }

  /**
   * Returns for how many milliseconds the client has read nothing of its responses, 0 when all are
   * read. It compares with the previous call, so call it regularly.
   */
  stalledMs(nowMs: number): number {
    const { bytesWritten, writableLength } = this.socket;
    const sentBytes = bytesWritten - writableLength;
    if (writableLength === 0 || sentBytes !== this.sentBytes) this.stalledSinceMs = undefined;
    this.sentBytes = sentBytes;
    if (writableLength === 0) return 0;
    this.stalledSinceMs ??= nowMs;
    return nowMs - this.stalledSinceMs;
  }
}

type RequestListener = (request: Request, response: Response) => void;

const CHECK_INTERVAL_MS = 1_000;
const LOG_INTERVAL_MS = 10_000;
/** Random, so that the clients do not return all at once. */
const SHED_PAUSE_MS = { min: 400, max: 900 };

/** The paths of HealthController, with or without a query. */
const HEALTH_PROBE = /^\/health\/(?:live|ready)(?:$|\?)/;

/** Returns whether Admission never sheds a request, and Arrivals never delays it. */
export function isHealthProbe({ method, url }: Request): boolean {
  return (method === 'GET' || method === 'HEAD') && HEALTH_PROBE.test(url);
}

/**
 * Tracks the connections of the main listener and enforces their limits. Over a limit, it closes a
 * connection that waits for its client, or else the new one.
 */
export class Connections {
  private readonly logger = new Logger(Connections.name);
  private readonly arrivals = new Arrivals();
  private readonly bySocket = new Map<Socket, Connection>();
  private readonly byAddress = new Map<string, Set<Connection>>();
  /** Connections without an open response, longest idle first. */
  private readonly idle = new Set<Connection>();
  private loggedAtMs = -Infinity;
  private unlogged = 0;

  /** The number of closed connections by limit. */
  readonly closed = {
    connections: 0,
    connections_per_address: 0,
    requests_per_connection: 0,
    unsent_responses: 0,
    stalled: 0,
  };

  /** @param isTrustedProxy whether an address belongs to a proxy, which many clients share */
  constructor(
    readonly bounds: ConnectionBounds,
    private readonly isTrustedProxy: (address: string) => boolean,
  ) {}

  get size(): number {
    return this.bySocket.size;
  }

  /** Observes the connections of a server until it closes. */
  attach(server: Server): void {
    server.on('connection', (socket) => this.add(socket));
    this.arrivals.attach(server);
    const timer = setInterval(() => this.check(performance.now()), CHECK_INTERVAL_MS).unref();
    server.once('close', () => clearInterval(timer));
  }

  /**
   * Returns a request listener that enforces the limit on requests per connection. The client
   * repeats the requests over the limit on another connection (RFC 9112, section 9.3.2).
   */
  bounded(listener: RequestListener): RequestListener {
    return (request, response) => {
      const connection = this.bySocket.get(request.socket);
      if (!connection) return;
      if (connection.isClosing) stopParsing(request.socket);
      else if (connection.responses.size >= this.bounds.maxRequestsPerConnection) {
        this.closeAfterLast(connection);
      } else {
        this.track(connection, response);
        const start = (): void => {
          if (!connection.isStopped) listener(request, response);
        };
        if (isHealthProbe(request)) start();
        else this.arrivals.start(start);
      }
    };
  }

  /** Returns the newest response of a connection that is not completely sent. */
  lastResponse(socket: Socket): Response | undefined {
    return this.bySocket.get(socket)?.lastResponse;
  }

  /** Ignores further requests of a connection. For one whose response has `Connection: close`. */
  stopRequests(socket: Socket): void {
    const connection = this.bySocket.get(socket);
    if (connection) connection.isClosing = connection.isStopped = true;
  }

  /**
   * Stops reading from the connection of a shed request for a time, so that a client that ignores
   * `Retry-After` costs little. Other clients share the connections of trusted proxies.
   */
  pauseReading({ socket }: Request): void {
    if (!this.bySocket.has(socket) || this.isTrustedProxy(socket.remoteAddress ?? '')) return;
    socket.pause();
    const pauseMs = randomInt(SHED_PAUSE_MS.min, SHED_PAUSE_MS.max);
    setTimeout(() => socket.resume(), pauseMs).unref();
  }

  /** Closes the connections on which no byte has arrived yet. */
  closeUnused(): void {
    for (const { socket } of this.idle) if (socket.bytesRead === 0) socket.destroy();
  }

  /** Closes every connection immediately. */
  closeAll(): void {
    for (const socket of this.bySocket.keys()) socket.destroy();
  }

  private add(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    const address = clientNetwork(remoteAddress);
    const sameAddress = this.byAddress.get(address) ?? new Set();
    const { maxConnections, maxConnectionsPerAddress } = this.bounds;
    const maxOfAddress = this.isTrustedProxy(remoteAddress) ? Infinity : maxConnectionsPerAddress;
    // The address first: a client over its own limit must not close connections of others.
    const hasRoom =
      remoteAddress !== '' &&
      this.makeRoom('connections_per_address', sameAddress.size, maxOfAddress, sameAddress) &&
      this.makeRoom('connections', this.size, maxConnections, this.idleFirst());
    if (!hasRoom) {
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, address);
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
    this.unlogged++;
    for (const candidate of candidates) {
      if (!candidate.isWaitingForClient) continue;
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

  private track(connection: Connection, response: Response): void {
    connection.responses.add(response);
    this.idle.delete(connection);
    response.once('close', () => {
      connection.responses.delete(response);
      if (connection.isIdle && this.bySocket.has(connection.socket)) this.idle.add(connection);
    });
  }

  private closeAfterLast(connection: Connection): void {
    const { socket } = connection;
    this.closed.requests_per_connection++;
    connection.isClosing = true;
    stopParsing(socket);
    socket.pause();
    const last = connection.lastResponse;
    if (!last?.headersSent) last?.setHeader('Connection', 'close');
    last?.once('close', () => lingerThenDestroy(socket));
  }

  private check(nowMs: number): void {
    let unsentBytes = 0;
    const stalled: Connection[] = [];
    for (const connection of this.bySocket.values()) {
      const stalledMs = connection.stalledMs(nowMs);
      if (stalledMs >= this.bounds.stalledConnectionTimeoutMs) {
        this.closed.stalled++;
        connection.socket.destroy();
      } else if (stalledMs > 0) {
        unsentBytes += connection.unsentBytes();
        stalled.push(connection);
      }
    }
    // Closes the oldest until the others are within the limit.
    for (const connection of stalled) {
      if (unsentBytes <= this.bounds.maxUnsentBytes) break;
      unsentBytes -= connection.unsentBytes();
      this.closed.unsent_responses++;
      connection.socket.destroy();
    }
    this.log(nowMs);
  }

  private log(nowMs: number): void {
    if (this.unlogged === 0 || nowMs - this.loggedAtMs < LOG_INTERVAL_MS) return;
    const msg = 'too many connections, closed idle or new connections';
    this.logger.warn({ msg, closed: this.unlogged, connections: this.size });
    this.loggedAtMs = nowMs;
    this.unlogged = 0;
  }
}

/**
 * Stops Node's HTTP parser within the bytes that it has already read.
 * This saves memory: up to 64 KiB of further requests would become thousands of objects that stay
 * until the connection closes.
 * It relies on `socket.parser.pause()`, which Node does not document. The server then emits a
 * `clientError` with the code HPE_PAUSED.
 * If a Node release removes it, the service only uses more memory: remove this function then.
 */
function stopParsing(socket: Socket): void {
  (socket as Socket & { parser?: { pause?(): void } }).parser?.pause?.();
}
