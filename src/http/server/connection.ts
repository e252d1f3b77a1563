import type { Socket } from 'node:net';
import type { Response } from '../request/request.js';

/** A client connection and the responses that it has not sent completely. */
export class Connection {
  /** Oldest first. */
  readonly responses = new Set<Response>();
  /** The service processes no further request of this connection. */
  isClosing = false;
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

  /** Whether all responses are complete and only wait for the client to read them. */
  get isWaitingForClient(): boolean {
    for (const response of this.responses) if (!response.writableEnded) return false;
    return true;
  }

  /** Returns how many bytes this process holds until the client reads them. */
  unsentBytes(): number {
    if (this.isIdle) return this.socket.writableLength;
    let bytes = 0;
    // The length of the first response includes the buffer of the socket.
    for (const response of this.responses) bytes += response.writableLength;
    return bytes;
  }

  /**
   * Returns for how many milliseconds the client has read nothing of its output, 0 when there is
   * none. It compares with the previous call, so call it regularly.
   *
   * @param nowMs the time of a monotonic clock
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
