import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { closeBeforeDatabases } from './database.js';

interface Connection {
  client: Socket;
  /** Whether the network has forgotten it: nothing arrives, and neither end is notified. */
  isForgotten: boolean;
  /** Whether the responses on this connection are withheld, also while those on others pass. */
  isHeld: boolean;
  /** Responses of the server that are withheld. */
  held: Buffer[];
}

/** A way to PostgreSQL, or to another server, that a test can watch and break. */
export class Relay {
  private readonly connections = new Set<Connection>();
  private readonly sent: Buffer[] = [];
  private readonly watchers = new Set<(chunk: Buffer) => void>();
  private isHeld = false;
  private holdsAfter: string | undefined;
  private holdsOneAfter: string | undefined;
  private listener = createServer();
  private port = 0;
  /** How many connections there were so far. */
  accepted = 0;

  private constructor(private target: URL) {}

  static async open(url: string): Promise<Relay> {
    const relay = new Relay(new URL(url));
    await relay.restore();
    closeBeforeDatabases(() => relay.cut());
    return relay;
  }

  /** The server's address by way of the relay. */
  get url(): string {
    const url = new URL(this.target);
    url.searchParams.delete('host');
    url.host = `127.0.0.1:${this.port}`;
    return url.href;
  }

  /** Returns how often these bytes were sent to the server. */
  timesSent(bytes: Buffer): number {
    const all = Buffer.concat(this.sent);
    let count = 0;
    for (let at = all.indexOf(bytes); at >= 0; at = all.indexOf(bytes, at + bytes.length)) count++;
    return count;
  }

  /** Resolves when the server has sent these bytes since the call, withheld or not. */
  untilReceived(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      let received = Buffer.alloc(0);
      const watch = (chunk: Buffer): void => {
        received = Buffer.concat([received, chunk]);
        if (!received.includes(bytes)) return;
        this.watchers.delete(watch);
        resolve();
      };
      this.watchers.add(watch);
    });
  }

  /** How many connections are open. */
  get open(): number {
    return this.connections.size;
  }

  /** Forgets the connections that are open, as a load balancer does that drops idle ones silently. */
  forget(): void {
    for (const connection of this.connections) connection.isForgotten = true;
  }

  /** Leads new connections to another server, as a name does after a failover. */
  leadTo(url: string): void {
    this.target = new URL(url);
  }

  /** Withholds the responses of the server from the moment when these bytes are sent to it. */
  holdAfter(bytes: string): void {
    this.holdsAfter = bytes;
  }

  /** Withholds the responses on the connection on which these bytes are sent next. */
  holdOneAfter(bytes: string): void {
    this.holdsOneAfter = bytes;
  }

  /** Withholds the responses of the server. */
  hold(): void {
    this.isHeld = true;
  }

  /** Breaks all connections and rejects new ones, as if the server had stopped. */
  async cut(): Promise<void> {
    if (!this.listener.listening) return;
    const closed = once(this.listener, 'close');
    this.listener.close();
    for (const { client } of this.connections) client.destroy();
    await closed;
  }

  /** Lets everything through again, what was withheld first. */
  async restore(): Promise<void> {
    this.isHeld = false;
    this.holdsAfter = undefined;
    this.holdsOneAfter = undefined;
    for (const connection of this.connections) {
      connection.isHeld = false;
      for (const chunk of connection.held.splice(0)) connection.client.write(chunk);
    }
    if (this.listener.listening) return;
    this.listener = createServer((socket) => this.pass(socket)).listen(this.port, '127.0.0.1');
    await once(this.listener, 'listening');
    this.port = (this.listener.address() as AddressInfo).port;
  }

  private pass(client: Socket): void {
    this.accepted++;
    const server = connectTo(this.target);
    const connection: Connection = { client, isForgotten: false, isHeld: false, held: [] };
    this.connections.add(connection);
    for (const socket of [client, server]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.connections.delete(connection);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (chunk) => {
      if (connection.isForgotten) return;
      this.sent.push(chunk);
      if (this.holdsAfter !== undefined && chunk.includes(this.holdsAfter)) this.hold();
      if (this.holdsOneAfter !== undefined && chunk.includes(this.holdsOneAfter)) {
        connection.isHeld = true;
        this.holdsOneAfter = undefined;
      }
      server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (connection.isForgotten) return;
      for (const watch of this.watchers) watch(chunk);
      if (this.isHeld || connection.isHeld) connection.held.push(chunk);
      else client.write(chunk);
    });
  }
}

function connectTo({ hostname, port, searchParams }: URL): Socket {
  const host = searchParams.get('host') ?? hostname;
  return host.startsWith('/')
    ? connect(`${host}/.s.PGSQL.${port || '5432'}`)
    : connect(Number(port || 5432), host);
}
