import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { BatchedWrites } from '../../src/platform/http/server/batched-writes.js';

let server: Server;
let writes: BatchedWrites;
let clients: Socket[];

beforeEach(async () => {
  writes = new BatchedWrites();
  clients = [];
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  server.close();
  await once(server, 'close');
});

/** Returns both ends of a new connection. Writes on the server's end are held. */
async function connection(): Promise<{ client: Socket; held: Socket }> {
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  clients.push(client);
  const [held] = (await accepted) as [Socket];
  held.on('error', () => undefined);
  writes.hold(held);
  return { client, held };
}

function write(socket: Socket, head: string, body: string): void {
  socket.cork();
  socket.write(head);
  socket.write(body);
  socket.uncork();
}

/** Returns whether the socket has written all bytes. */
const isWritten = ({ bytesWritten, writableLength }: Socket): boolean =>
  bytesWritten > 0 && writableLength === 0;

it('writes the responses of an event-loop tick when it ends, complete and in order', async () => {
  const [first, second] = [await connection(), await connection()];

  write(first.held, 'head ', 'body ');
  write(second.held, 'other ', 'one');
  write(first.held, 'next ', 'one');
  expect([first.held.writableLength, second.held.writableLength]).toEqual([18, 9]);
  first.held.end();
  second.held.end();

  expect(await text(first.client)).toBe('head body next one');
  expect(await text(second.client)).toBe('other one');
});

it('writes immediately on flush', async () => {
  const { held } = await connection();

  write(held, 'head ', 'body');
  expect(isWritten(held)).toBe(false);
  writes.flush();

  expect(isWritten(held)).toBe(true);
});

it('closes a connection that was destroyed in the meantime and writes the others', async () => {
  const [destroyed, open] = [await connection(), await connection()];
  const closed = new Promise((resolve) => destroyed.held.on('close', resolve));

  write(destroyed.held, 'head ', 'body');
  write(open.held, 'head ', 'body');
  destroyed.held.destroy();
  open.held.end();

  expect(await text(open.client)).toBe('head body');
  await closed;
});
