import { expectError } from '../../../harness/http/error-response.js';
import { send } from '../../../harness/http/client.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { useStore } from '../../../harness/http/store.js';

const MAX_CHUNKS = 256;
const PET = '{"name":"Frank","categoryId":1}';
const SPACE = '1\r\n \r\n';
/** 65 KB, which arrive at once. */
const MANY = SPACE.repeat(10_800);

const store = useStore();

const CHUNKED = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];
const head = (apiKey?: string): string => requestHead('POST /v1/items', apiKey, ...CHUNKED);

test('POST /v1/items › 201 for a body in 256 chunks, 413 in 257', async () => {
  for (const [more, status] of [
    [0, 201],
    [1, 413],
  ] as const) {
    const chunks = Array.from(PET, (byte) => `1\r\n${byte}\r\n`).join('');
    const spaces = SPACE.repeat(MAX_CHUNKS + more - PET.length);
    const body = `${spaces}${chunks}0\r\n\r\n`;
    for (const sent of [[body], [body.slice(0, 1_000), body.slice(1_000)]]) {
      const connection = await RawConnection.open(store.service, head(store.owner.key));
      for (const part of sent) connection.write(part);
      const response = await connection.response();
      if (status === 413) expectError(response, 413, 'payload_too_large');
      else expect(response.status).toBe(201);
      connection.close();
    }
  }
});

test('POST /v1/items › 201 for a body with Content-Length, in however many pieces it arrives', async () => {
  const body = PET.padEnd(2 * MAX_CHUNKS);
  const headers = [CHUNKED[0]!, `Content-Length: ${body.length}`];
  const connection = await RawConnection.open(
    store.service,
    requestHead('POST /v1/items', store.owner.key, ...headers),
  );
  connection.socket.setNoDelay();
  for (const byte of body) {
    connection.write(byte);
    // The service has usually read the byte when it responds.
    await send(store.service, '/health/live');
  }
  expect((await connection.response()).status).toBe(201);
  connection.close();
});

test('POST /v1/items › bodies of other connections arrive completely after a parser has ignored chunks', async () => {
  const attack = `${head(store.owner.key)}${MANY}0\r\n\r\nCONNECT pets:80 HTTP/1.1\r\nHost: pets:80\r\n\r\n`;
  const created = requestHead(
    'POST /v1/items',
    store.owner.key,
    ...CHUNKED.slice(0, 1),
    `Content-Length: ${PET.length}`,
  );
  for (let round = 0; round < 20; round++) {
    const attacking = RawConnection.exchange(store.service, attack);
    const others = Array.from({ length: 5 }, () =>
      RawConnection.exchange(store.service, created + PET),
    );
    expect((await attacking).status).toBe(413);
    for (const { status } of await Promise.all(others)) expect(status).toBe(201);
  }
});

test('GET /v1/items › a request in an ignored body is not processed', async () => {
  const smuggled = requestHead('GET /v1/items', store.owner.key);
  const connection = await RawConnection.open(store.service, head() + smuggled);
  const response = await connection.response();
  expect([response.status, response.headers['connection']]).toEqual([401, 'close']);
  connection.write(smuggled);
  await connection.serverEnd();
  connection.close();
});
