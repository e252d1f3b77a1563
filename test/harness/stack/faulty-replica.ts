import { once } from 'node:events';
import { createServer } from 'node:http';

/** Stands where a replica would and says that it is ready, but reads each request to its end and drops the connection. */
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

  /** It is gone: connections are refused. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}
