import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to PostgreSQL that a test can watch and break. */
export interface Relay {
  /** The database's address by this way. */
  readonly url: string;
  /** Returns how often these bytes were sent to the server. */
  timesSent(bytes: Buffer): number;
  /** Resolves when the server has sent these bytes since the call, kept back or not. */
  untilReceived(bytes: Buffer): Promise<void>;
  /** Ends all connections, and every new one at once. */
  cut(): void;
  /**
   * Withholds the responses of the server, on all connections or on those with one
   * `application_name`.
   */
  hold(applicationName?: string): void;
  /** Lets everything through again, what was held first. */
  restore(): void;
  close(): Promise<void>;
}

/** Starts a relay in front of a database. */
export async function startRelay(databaseUrl: string): Promise<Relay> {
  const pairs = new Set<{ client: Socket; server: Socket; held: Buffer[]; startup?: Buffer }>();
  const sent: Buffer[] = [];
  const watchers = new Set<(chunk: Buffer) => void>();
  let state: 'open' | 'cut' | 'held' = 'open';
  let heldName: string | undefined;
  const isHeld = (startup?: Buffer): boolean =>
    state === 'held' && (heldName === undefined || Boolean(startup?.includes(`\0${heldName}\0`)));

  const listener = createServer((client) => {
    client.on('error', () => client.destroy());
    if (state === 'cut') {
      client.destroy();
      return;
    }
    const pair: { client: Socket; server: Socket; held: Buffer[]; startup?: Buffer } = {
      client,
      server: connectTo(databaseUrl),
      held: [],
    };
    const { server, held } = pair;
    pairs.add(pair);
    server.on('error', () => server.destroy());
    server.on('close', () => client.destroy());
    client.on('close', () => {
      server.destroy();
      pairs.delete(pair);
    });
    client.on('data', (chunk) => {
      // An untyped message that asks for TLS may come first; it is shorter.
      if (!pair.startup || pair.startup.length <= 8) pair.startup = chunk;
      sent.push(chunk);
      server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (isHeld(pair.startup)) held.push(chunk);
      else client.write(chunk);
      for (const watch of watchers) watch(chunk);
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');

  const url = new URL(databaseUrl);
  url.searchParams.delete('host');
  url.hostname = '127.0.0.1';
  url.port = String((listener.address() as AddressInfo).port);
  const cut = (): void => {
    state = 'cut';
    for (const { client } of pairs) client.destroy();
  };
  return {
    url: url.href,
    timesSent: (bytes) => occurrences(Buffer.concat(sent), bytes),
    untilReceived: (bytes) =>
      new Promise((resolve) => {
        let received = Buffer.alloc(0);
        const watch = (chunk: Buffer): void => {
          received = Buffer.concat([received, chunk]);
          if (!received.includes(bytes)) return;
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
      }),
    cut,
    hold: (applicationName) => {
      heldName = applicationName;
      state = 'held';
    },
    restore: () => {
      state = 'open';
      for (const { client, held } of pairs) {
        for (const chunk of held.splice(0)) client.write(chunk);
      }
    },
    close: async () => {
      cut();
      const closed = once(listener, 'close');
      listener.close();
      await closed;
    },
  };
}

function connectTo(databaseUrl: string): Socket {
  const url = new URL(databaseUrl);
  const host = url.searchParams.get('host') ?? url.hostname;
  const port = Number(url.port || 5432);
  return host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
}

function occurrences(text: Buffer, part: Buffer): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}
