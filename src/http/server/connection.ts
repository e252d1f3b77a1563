import type { Socket } from 'node:net';
import type { Response } from '../request/request.js';

/** One client connection and what it holds. */
export class Connection {
  /** Responses that have not been sent completely, oldest first. */
  readonly responses = new Set<Response>();
  /** No further request of this connection is processed. */
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

  /** Whether the service has nothing to do for it: its responses, if any, only wait for the client to read them. */
  get isWaitingForClient(): boolean {
    for (const response of this.responses) if (!response.writableEnded) return false;
    return true;
  }

  /** Returns how many bytes wait for the client to read, in this process. */
  unsentBytes(): number {
    if (this.isIdle) return this.socket.writableLength;
    let bytes = 0;
    // The first one's length includes what the socket holds; the others wait for it.
    for (const response of this.responses) bytes += response.writableLength;
    return bytes;
  }

  /**
   * Returns for how long output has been waiting without any progress, in milliseconds; 0 when nothing waits.
   * Call it regularly: progress is what has changed since the last call.
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
