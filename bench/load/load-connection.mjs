// @ts-check
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const READ_BYTES = 65_536;
const MAX_HEAD_BYTES = 4_096;

/**
 * Called with the status and latency of each response. The status is 0 if the connection closed
 * before the response.
 *
 * @callback OnResponse
 * @param {LoadConnection} connection
 * @param {number} status
 * @param {number} latencyMs
 */

/**
 * A client connection that repeats one request. Reads only the status and the length of a response,
 * so that it needs a tenth of the CPU time of `node:http`'s client.
 */
export class LoadConnection {
  #sentAtMs = 0;
  /** The time at which the connection attempt started. */
  startedAtMs = 0;
  #received = Buffer.alloc(0);
  isOpen = false;
  isWaiting = false;

  /**
   * @param {number} port
   * @param {Buffer} request
   * @param {(connection: LoadConnection) => void} onOpen
   * @param {OnResponse} onResponse
   */
  constructor(port, request, onOpen, onResponse) {
    this.port = port;
    this.request = request;
    this.onOpen = onOpen;
    this.onResponse = onResponse;
    this.socket = this.#connect();
  }

  /** Sends the request. Wait for the response before you call it again. */
  send() {
    this.isWaiting = true;
    this.#sentAtMs = performance.now();
    this.socket.write(this.request);
  }

  /** Replaces a closed connection. */
  reconnect() {
    this.socket = this.#connect();
  }

  close() {
    this.isWaiting = false;
    this.socket.destroy();
  }

  #connect() {
    this.isOpen = false;
    this.isWaiting = false;
    this.startedAtMs = performance.now();
    this.#received = Buffer.alloc(0);
    const socket = connect({
      port: this.port,
      host: '127.0.0.1',
      onread: {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback: (length, buffer) => {
          this.#read(/** @type {Buffer} */ (buffer).subarray(0, length));
          return true;
        },
      },
    });
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.once('connect', () => {
      this.isOpen = true;
      this.onOpen(this);
    });
    socket.once('close', () => {
      this.isOpen = false;
      if (this.isWaiting) this.#end(0);
    });
    return socket;
  }

  /** @param {Buffer} bytes */
  #read(bytes) {
    const received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    const bodyStart = received.subarray(0, MAX_HEAD_BYTES).indexOf(HEAD_END) + HEAD_END.length;
    if (bodyStart >= HEAD_END.length) {
      const head = received.toString('latin1', 0, bodyStart);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (received.length >= bodyStart + length) {
        this.#received = Buffer.alloc(0);
        this.#end(Number(head.slice(9, 12)));
        return;
      }
    }
    // The next read overwrites the buffer of the socket.
    this.#received = Buffer.from(received);
  }

  /** @param {number} status */
  #end(status) {
    this.isWaiting = false;
    this.onResponse(this, status, performance.now() - this.#sentAtMs);
  }
}
