import { useDatabase } from '../../../harness/database/database.js';
import { createOwner } from '../../../harness/database/factories.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { metric } from '../../../harness/service/metrics.js';
import { type BuiltService, startBuiltService } from '../../../harness/service/service.js';

/** 65 KB, which arrive at once. */
const MANY = '1\r\n \r\n'.repeat(10_800);
const HEADERS = ['Content-Type: application/json', 'Transfer-Encoding: chunked'];

const database = useDatabase();
let service: BuiltService;
let port: number;
let key: string;

beforeAll(async () => {
  const env = { DATABASE_URL: database.url, ANONYMOUS_REQUESTS_PER_MINUTE: '1000000' };
  service = await startBuiltService(env);
  port = Number(new URL(service.url).port);
  ({ key } = await createOwner(database));
});

/** Returns the CPU that the service takes for a request on a new connection, in seconds. */
async function cpuOf(bytes: string, status: number): Promise<number> {
  const cpu = (): Promise<number> => metric(service, 'process_cpu_seconds_total');
  const before = await cpu();
  for (let request = 0; request < 50; request++) {
    expect((await RawConnection.exchange({ port }, bytes)).status).toBe(status);
  }
  return (await cpu()) - before;
}

test.each([
  ['401', '', () => undefined, 401],
  ['413', 'with an API key ', () => key, 413],
])(
  'POST /v1/items › %s %sfor 10,800 chunks of one byte, and the parser does not look at all of them',
  async (_status, _as, as, status) => {
    const attack = requestHead('POST /v1/items', as(), ...HEADERS) + MANY;
    await cpuOf(attack, status);
    // Twice as much is promised without an API key. Without the bound, it is 20 times as much.
    const plain = await cpuOf(requestHead('GET /v1/items'), 401);
    expect(await cpuOf(attack, status)).toBeLessThan(8 * plain);
  },
);
