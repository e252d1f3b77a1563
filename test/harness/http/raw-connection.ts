import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { HANG_LIMIT_MS } from '../run/until.js';

export interface RawResponse {
  status: number;
  /** By lower-case name. */
  headers: Record<string, string>;
  text: string;
}

const sockets = new Set<Socket>();

/** Closes the connections of a test to a port. */
export function closeConnections(port: number): void {
  for (const socket of sockets) if (socket.remotePort === port) socket.destroy();
}

/**
 * Returns the head of a request.
 *
 * @param request method and target, and the version unless it is HTTP/1.1
 * @param key an API key to authorize it
 */
export function requestHead(request: string, key?: string, ...headers: string[]): string {
  const line = request.includes(' HTTP/') ? request : `${request} HTTP/1.1`;
  const authorization = key === undefined ? [] : [`Authorization: Bearer ${key}`];
  return [line, 'Host: pets', ...authorization, ...headers, '', ''].join('\r\n');
}

/** A connection on which a test writes any bytes and reads one response after another. */
export class RawConnection {
  private received = '';
  private ended = false;
  private error: Error | undefined;
  private notify = (): void => undefined;

  private constructor(readonly socket: Socket) {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      this.received += text;
      this.notify();
    });
    const end = (): void => {
      this.ended = true;
      this.notify();
    };
    socket.on('end', end).on('close', end);
    socket.on('error', (error) => (this.error = error));
  }

  /** @param bytes written at once */
  static async open(
    { port, localAddress }: { port: number; localAddress?: string },
    bytes: string | Buffer = '',
  ): Promise<RawConnection> {
    const socket = connect({
      port,
      host: '127.0.0.1',
      allowHalfOpen: true,
      ...(localAddress !== undefined && { localAddress }),
    });
    // A connection that a test leaves open must not keep the test run alive.
    socket.unref();
    const connection = new RawConnection(socket);
    await once(socket, 'connect');
    return connection.write(bytes);
  }

  /** Writes the bytes on a new connection and returns the first response. */
  static async exchange(
    service: { port: number; localAddress?: string },
    bytes: string | Buffer,
  ): Promise<RawResponse> {
    const connection = await RawConnection.open(service, bytes);
    try {
      return await connection.response();
    } finally {
      connection.close();
    }
  }

  /** Writes bytes; each character of a text is one. */
  write(bytes: string | Buffer): this {
    if (bytes.length > 0) {
      this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    }
    return this;
  }

  close(): void {
    this.socket.destroy();
  }

  /**
   * Returns the next response.
   *
   * @param hasBody false for a response without a body, such as that of HEAD
   */
  async response({ hasBody = true } = {}): Promise<RawResponse> {
    await this.until(() => this.received.includes('\r\n\r\n'));
    const headLength = this.received.indexOf('\r\n\r\n') + 4;
    const [statusLine = '', ...headerLines] = this.received.slice(0, headLength - 4).split('\r\n');
    const headers = Object.fromEntries(
      headerLines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const length = headLength + (hasBody ? Number(headers['content-length'] ?? 0) : 0);
    await this.until(() => this.received.length >= length);
    const text = Buffer.from(this.received.slice(headLength, length), 'latin1').toString();
    this.received = this.received.slice(length);
    return { status: Number(statusLine.split(' ')[1]), headers, text };
  }

  /**
   * Resolves when the server has ended the connection.
   *
   * @throws if it was reset, or more bytes were received
   */
  async serverEnd(): Promise<void> {
    await this.until(() => this.ended);
    this.close();
    if (this.error) throw this.error;
    if (this.received) throw new Error(`unexpected: ${this.received}`);
  }

  private async until(condition: () => boolean): Promise<void> {
    const deadline = Date.now() + HANG_LIMIT_MS;
    while (!condition()) {
      if (this.ended) throw this.error ?? new Error(`ended after: ${this.received}`);
      await this.change(deadline - Date.now());
    }
  }

  private change(patienceMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`nothing came after: ${this.received}`));
      }, patienceMs);
      this.notify = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
