import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * A replica that reports to be ready, but reads each request and closes the connection without a
 * response.
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
      request.socket.destroy();
    });
  });

  static async start(host: string, port: number): Promise<FaultyReplica> {
    const replica = new FaultyReplica();
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
