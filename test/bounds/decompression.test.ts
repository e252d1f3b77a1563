import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { ApiClient, type ApiResponse } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { expectError } from '../harness/http/error-response.js';
import { createOwner } from '../harness/database/factories.js';
import { canReadMemory, peakMemoryBytes } from '../harness/service/process-memory.js';
import { type BuiltService, startBuiltService } from '../harness/service/service.js';

const MEBIBYTE = 1_048_576;
const PET = JSON.stringify({ name: 'Frank', categoryId: 1 });

let database: TestDatabase;
let service: BuiltService;
let client: ApiClient;

beforeAll(async () => {
  database = await createDatabase();
  service = await startBuiltService({ DATABASE_URL: database.url });
  client = new ApiClient(service, (await createOwner(database)).key);
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

function brotli(bytes: Buffer | string, windowBits: number): Buffer {
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_LGWIN]: windowBits,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

const post = (body: Buffer, encoding: string): Promise<ApiResponse> =>
  client.post('/v1/pets', body, { 'Content-Encoding': encoding });

test.each([
  ...[10, 16, 17, 18, 22].map(
    (bits) => ['br', `a window of ${bits} bits`, brotli(PET, bits)] as const,
  ),
  ['br', "the encoder's defaults", brotliCompressSync(PET)] as const,
  ['gzip', "the encoder's defaults", gzipSync(PET)] as const,
])('POST /v1/pets › 201 for %s with %s', async (encoding, _title, body) => {
  expect((await post(body, encoding)).status).toBe(201);
});

test.each([23, 24])('POST /v1/pets › 400 for a Brotli window of %i bits', async (bits) => {
  expect(expectError(await post(brotli(PET, bits), 'br'), 400, 'malformed_json')).toContain(
    'larger than 22 bits',
  );
});

describe('200 bodies at once that decode to 50 MB', () => {
  const zeros = Buffer.alloc(50 * MEBIBYTE, ' ');

  test.each([
    ['br', 400, 'malformed_json', brotli(zeros, 24)],
    ['br', 413, 'payload_too_large', brotli(zeros, 22)],
    ['gzip', 413, 'payload_too_large', gzipSync(zeros)],
  ] as const)(
    'POST /v1/pets › %s: %i, memory grows by less than 100 MB, and others are served',
    async (encoding, status, code, bomb) => {
      expect((await post(gzipSync(PET), 'gzip')).status).toBe(201);
      const neighbour = new ApiClient(service, (await createOwner(database)).key);
      const before = canReadMemory ? peakMemoryBytes(service) : 0;

      const hostile = Array.from({ length: 200 }, () => post(bomb, encoding));
      const done: string[] = [];
      const all = Promise.all(hostile).then((responses) => {
        done.push('hostile');
        return responses;
      });
      const served = await neighbour.post('/v1/pets', gzipSync(PET), {
        'Content-Encoding': 'gzip',
      });
      done.push('neighbour');

      expect(served.status).toBe(201);
      for (const response of await all) expectError(response, status, code);
      if (status === 413 && encoding === 'br') expect(done).toEqual(['neighbour', 'hostile']);
      if (canReadMemory) expect(peakMemoryBytes(service) - before).toBeLessThan(100 * MEBIBYTE);
    },
  );
});
