import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** What a client asks next. */
export interface Asked {
  method: 'GET' | 'POST';
  path: string;
  body?: string;
}

/** What came of all requests so far. */
export interface LoadResult {
  /** The number of responses by method and status, such as `POST 201`. */
  responses: Record<string, number>;
  /** The number of requests without a response, by error code. */
  errors: Record<string, number>;
  /** The bodies of the 201s. */
  created: string[];
  /** Connections opened. */
  connections: number;
}

/** Few enough requests that the load balancer sees in time what becomes of the replicas. */
const PAUSE_MS = 40;
const REQUEST_LIMIT_MS = 5_000;

/** Clients that ask without end and never again, each on one connection that it keeps. */
export class KeepAliveLoad {
  readonly result: LoadResult = { responses: {}, errors: {}, created: [], connections: 0 };
  private stopped = false;
  private readonly clients: Promise<void>[];

  /** @param next returns the request with a number */
  constructor(
    private readonly port: number,
    private readonly key: string,
    clients: number,
    private readonly next: (number: number) => Asked,
  ) {
    this.clients = Array.from({ length: clients }, (_, index) => this.run(index));
  }

  /** Returns when every request has a response. */
  async stop(): Promise<LoadResult> {
    this.stopped = true;
    await Promise.all(this.clients);
    return this.result;
  }

  private async run(first: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let number = first; !this.stopped; number++) {
      await this.ask(agent, this.next(number));
      await sleep(PAUSE_MS);
    }
    agent.destroy();
  }

  private ask(agent: Agent, { method, path, body }: Asked): Promise<void> {
    const { responses, errors, created } = this.result;
    return new Promise((resolve) => {
      const fail = (error: NodeJS.ErrnoException): void => {
        count(errors, `${method} ${error.code ?? error.message}`);
        resolve();
      };
      const headers = {
        Authorization: `Bearer ${this.key}`,
        ...(body !== undefined && {
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(body),
        }),
      };
      const asked = request(
        { agent, host: '127.0.0.1', port: this.port, method, path, headers },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.on('error', fail);
          response.on('end', () => {
            count(responses, `${method} ${response.statusCode}`);
            if (response.statusCode === 201) created.push(text);
            resolve();
          });
        },
      );
      asked.setTimeout(REQUEST_LIMIT_MS, () => asked.destroy(new Error('no response in time')));
      asked.on('socket', (socket) => {
        if (socket.connecting) this.result.connections++;
      });
      asked.on('error', fail);
      asked.end(body);
    });
  }
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
