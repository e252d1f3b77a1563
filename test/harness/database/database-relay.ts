import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** The first bytes of the message that ends the start of a connection. */
const READY_FOR_QUERY = Buffer.from('Z\0\0\0\x05', 'latin1');

/** Stands between the service and PostgreSQL, and can be cut or made to pass nothing on. */
export class DatabaseRelay {
  private readonly sockets = new Set<Socket>();
  private stalled = false;
  private delayMs = 0;
  /** How many connections there were so far. */
  accepted = 0;

  private constructor(
    private target: URL,
    private server = createServer(),
    private port = 0,
  ) {}

  static async open(databaseUrl: string): Promise<DatabaseRelay> {
    const relay = new DatabaseRelay(new URL(databaseUrl));
    await relay.restore();
    return relay;
  }

  /** The database's address by way of the relay. */
  get url(): string {
    const url = new URL(this.target);
    url.searchParams.delete('host');
    url.host = `127.0.0.1:${this.port}`;
    return url.href;
  }

  /** Connections hang, old and new ones: as when a network swallows everything. */
  stall(): Promise<void> {
    this.stalled = true;
    for (const socket of this.sockets) socket.pause();
    return Promise.resolve();
  }

  /**
   * Each response of the server is delayed by this time. A connection takes one response, however
   * it authenticates.
   */
  slow(delayMs: number): void {
    this.delayMs = delayMs;
  }

  /** New connections lead to another server: as behind a balancer. */
  redirect(databaseUrl: string): void {
    this.target = new URL(databaseUrl);
  }

  /** Breaks all connections and rejects new ones, as if the server had stopped. */
  async cut(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** The database is there again; connections that hung are lost. */
  async restore(): Promise<void> {
    if (this.server.listening) await this.cut();
    this.stalled = false;
    this.delayMs = 0;
    this.server = createServer((socket) => this.pass(socket)).listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }

  private pass(client: Socket): void {
    this.accepted++;
    const server = this.connect();
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      const other = socket === client ? server : client;
      socket
        .on('error', () => undefined)
        .on('close', () => {
          this.sockets.delete(socket);
          other.destroy();
        });
      let dueAtMs = 0;
      let chunks = 0;
      let isReady = false;
      socket.on('data', (bytes) => {
        const nowMs = performance.now();
        // Never before what came before it.
        const isDelayed = socket === server && (isReady || chunks === 0);
        dueAtMs = Math.max(dueAtMs, isDelayed ? nowMs + this.delayMs : nowMs);
        chunks++;
        isReady ||= bytes.includes(READY_FOR_QUERY);
        if (dueAtMs === nowMs) other.write(bytes);
        else setTimeout(() => other.write(bytes), dueAtMs - nowMs);
      });
      if (this.stalled) socket.pause();
    }
  }

  private connect(): Socket {
    const { hostname, port, searchParams } = this.target;
    const host = searchParams.get('host') ?? hostname;
    return host.startsWith('/')
      ? connect(`${host}/.s.PGSQL.${port || '5432'}`)
      : connect(Number(port || 5432), host);
  }
}
