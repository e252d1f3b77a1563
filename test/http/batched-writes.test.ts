import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { BatchedWrites } from '../../src/http/server/batched-writes.js';

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

/** Returns both ends of a new connection, of which the server's is held. */
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

function response(socket: Socket, head: string, body: string): void {
  socket.cork();
  socket.write(head);
  socket.write(body);
  socket.uncork();
}

/** Counts the bytes that are out. */
const isOut = ({ bytesWritten, writableLength }: Socket): boolean =>
  bytesWritten > 0 && writableLength === 0;

it('writes the answers of one turn at its end, each whole and in order', async () => {
  const [first, second] = [await connection(), await connection()];

  response(first.held, 'head ', 'body ');
  response(second.held, 'other ', 'one');
  response(first.held, 'next ', 'one');
  expect([first.held.writableLength, second.held.writableLength]).toEqual([18, 9]);
  first.held.end();
  second.held.end();

  expect(await text(first.client)).toBe('head body next one');
  expect(await text(second.client)).toBe('other one');
});

it('writes at once when it is told to', async () => {
  const { held } = await connection();

  response(held, 'head ', 'body');
  expect(isOut(held)).toBe(false);
  writes.flush();

  expect(isOut(held)).toBe(true);
});

it('tells the writer of a connection that was destroyed meanwhile, and writes the others', async () => {
  const [gone, there] = [await connection(), await connection()];
  const told = new Promise((resolve) => gone.held.on('close', resolve));

  response(gone.held, 'head ', 'body');
  response(there.held, 'head ', 'body');
  gone.held.destroy();
  there.held.end();

  expect(await text(there.client)).toBe('head body');
  await told;
});
