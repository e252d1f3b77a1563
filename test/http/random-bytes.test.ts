import { ApiClient } from '../harness/client.js';
import { createOwner } from '../harness/factories.js';
import { RawConnection } from '../harness/raw-connection.js';
import { startService, type TestService } from '../harness/service.js';

const MESSAGES = 400;
const AT_A_TIME = 20;

let service: TestService;
let key: string;

beforeAll(async () => {
  service = await startService({ env: { ANONYMOUS_REQUESTS_PER_MINUTE: '1000000' } });
  ({ key } = await createOwner(service.database));
});
afterAll(() => service.close());

/** Returns a generator of the same numbers from 0 to 1 in every run (mulberry32). */
function randomNumbers(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a good request with some bytes replaced, removed or doubled. */
function mutate(message: Buffer, random: () => number): Buffer {
  let bytes = [...message];
  const index = (): number => Math.floor(random() * bytes.length);
  for (let changes = Math.ceil(random() * 6); changes > 0; changes--) {
    const at = index();
    const kind = random();
    if (kind < 0.5) bytes[at] = Math.floor(random() * 256);
    else if (kind < 0.7) bytes.splice(at, Math.ceil(random() * 8));
    else if (kind < 0.9) bytes.splice(at, 0, ...bytes.slice(at, at + 16));
    else bytes = bytes.slice(0, at + 1);
  }
  return Buffer.from(bytes);
}

test('requests with random changes: the service answers or closes, and goes on', async () => {
  const random = randomNumbers(1);
  const fields = `Host: pets\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  const requests = [
    `GET /v1/pets?limit=5&status=sold HTTP/1.1\r\n${fields}\r\n`,
    `POST /v1/pets HTTP/1.1\r\n${fields}Content-Length: 31\r\n\r\n{"name":"Frank","categoryId":1}`,
    `POST /v1/pets HTTP/1.1\r\n${fields}Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam\r\n2;x=y\r\ne"\r\n0\r\n\r\n`,
    `GET /v1/pets/1 HTTP/1.1\r\n${fields}\r\nGET /nope HTTP/1.1\r\n${fields}\r\n`,
  ].map((request) => Buffer.from(request));

  const exchange = async (): Promise<void> => {
    const message = mutate(requests[Math.floor(random() * requests.length)]!, random);
    const connection = await RawConnection.open(service, message);
    connection.socket.end();
    await new Promise((resolve) => connection.socket.on('close', resolve).resume());
  };
  for (let sent = 0; sent < MESSAGES; sent += AT_A_TIME) {
    await Promise.all(Array.from({ length: AT_A_TIME }, exchange));
  }

  expect((await new ApiClient(service, key).get('/v1/pets')).status).toBe(200);
  expect(service.logs().filter(({ level }) => Number(level) >= 50)).toEqual([]);
});
