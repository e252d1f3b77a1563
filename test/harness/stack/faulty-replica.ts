import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * A replica that reports to be ready, but reads each request and closes the connection without a
 * response, or hangs: it keeps the connection open and never responds.
 */
export class FaultyReplica {
  readonly dropped = { GET: 0, POST: 0 };
  private readonly server = createServer((request, response) => {
    if (request.url?.startsWith('/health/')) {
      response.end();
      return;
    }
    request.resume().on('end', () => {
      this.dropped[request.method as 'GET' | 'POST']++;
      if (this.fault === 'closes') request.socket.destroy();
    });
  });

  private constructor(private readonly fault: 'closes' | 'hangs') {}

  static async start(
    host: string,
    port: number,
    fault: 'closes' | 'hangs' = 'closes',
  ): Promise<FaultyReplica> {
    const replica = new FaultyReplica(fault);
    replica.server.listen(port, host);
    await once(replica.server, 'listening');
    return replica;
  }

  /** Stops listening and closes all connections. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
