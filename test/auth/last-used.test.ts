import { Logger } from '@nestjs/common';
import { LastUsed } from '../../src/platform/access/key-cache/last-used.js';
import type { KeyLookupRepository } from '../../src/platform/access/key-cache/key-lookup.repository.js';
import { ApiClient } from '../harness/http/client.js';
import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { createKey, createOwner } from '../harness/database/factories.js';
import { MINUTE_MS } from '../harness/rate-limit/limits.js';
import { START_MS, startService } from '../harness/service/service.js';

describe('the time of the last use', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.close());

  /** An owner whose API key is older than the clock of the service, whatever the date. */
  async function createEarlierOwner(createdAtMs = START_MS) {
    const owner = await createOwner(database);
    await database.query('UPDATE api_keys SET created_at = $1 WHERE id = $2', [
      new Date(createdAtMs),
      owner.keyId,
    ]);
    return owner;
  }

  async function lastUsed(keyId: string): Promise<number | undefined> {
    const [row] = await database.query<{ at: Date | null }>(
      'SELECT last_used_at AS at FROM api_keys WHERE id = $1',
      [keyId],
    );
    return row?.at?.getTime();
  }

  it('is stored to the minute, at the latest when the service stops', async () => {
    const owner = await createEarlierOwner();
    const [unused, revoked] = [
      await createKey(database, owner.id),
      await createKey(database, owner.id, { revokedAtMs: START_MS }),
    ];
    const service = await startService({ database, nowMs: START_MS + 59_999 });
    await new ApiClient(service, owner.key).get('/v1/pets');
    await service.advance(MINUTE_MS);
    await new ApiClient(service, owner.key).get('/v1/nothing');
    await new ApiClient(service, revoked.key).get('/v1/pets');
    await service.close();
    expect(await lastUsed(owner.keyId)).toBe(START_MS + MINUTE_MS);
    expect(await lastUsed(unused.keyId)).toBeUndefined();
    expect(await lastUsed(revoked.keyId)).toBeUndefined();
  });

  it('does not decrease when a replica writes late', async () => {
    const owner = await createEarlierOwner();
    const laterMs = START_MS + 5 * MINUTE_MS;
    await database.query('UPDATE api_keys SET last_used_at = $1', [new Date(laterMs)]);
    const service = await startService({ database });
    await new ApiClient(service, owner.key).get('/v1/pets');
    await service.close();
    expect(await lastUsed(owner.keyId)).toBe(laterMs);
  });

  it('is never earlier than the creation of the API key', async () => {
    const createdMs = START_MS + 30_000;
    const owner = await createEarlierOwner(createdMs);
    const service = await startService({ database, nowMs: START_MS + 45_000 });
    await new ApiClient(service, owner.key).get('/v1/pets');
    await service.close();
    expect(await lastUsed(owner.keyId)).toBe(createdMs);
  });
});

describe('a collected use', () => {
  type Batch = [id: bigint, atMs: number][];
  const written: Batch[] = [];
  /** Called while a statement fails. */
  let failure: (() => void) | undefined;
  // A stub of a database that fails between two statements.
  const repository = {
    saveLastUsed: (batch: ReadonlyMap<bigint, number>) => {
      if (failure) {
        failure();
        return Promise.reject(new Error('unavailable'));
      }
      written.push([...batch]);
      return Promise.resolve();
    },
  };
  let lastUsed: LastUsed;

  beforeEach(() => {
    Logger.overrideLogger(false);
    jest.useFakeTimers();
    written.length = 0;
    lastUsed = new LastUsed(repository as unknown as KeyLookupRepository);
    lastUsed.onModuleInit();
  });
  afterEach(async () => {
    failure = undefined;
    await lastUsed.onApplicationShutdown();
    jest.useRealTimers();
  });

  /** Advances the time by the longest interval. */
  const interval = (): Promise<void> => jest.advanceTimersByTimeAsync(22_500);

  it('is written once, in one batch after an interval', async () => {
    for (let time = 0; time < 100; time++) lastUsed.note(BigInt(time % 2), MINUTE_MS + time);
    expect(written).toEqual([]);
    await interval();
    await interval();
    expect(written).toEqual([
      [
        [0n, MINUTE_MS],
        [1n, MINUTE_MS],
      ],
    ]);
  });

  it('is kept while it cannot be written, with the later of two times', async () => {
    lastUsed.note(1n, MINUTE_MS);
    lastUsed.note(2n, MINUTE_MS);
    failure = () => lastUsed.note(2n, 2 * MINUTE_MS);
    await interval();
    failure = undefined;
    await interval();
    expect(new Map(written.flat())).toEqual(
      new Map([
        [1n, MINUTE_MS],
        [2n, 2 * MINUTE_MS],
      ]),
    );
  });

  it('is written in statements of bounded size', async () => {
    for (let id = 0n; id < 12_000n; id++) lastUsed.note(id, MINUTE_MS);
    await interval();
    expect(written.map(({ length }) => length).sort()).toEqual([2_000, 5_000, 5_000]);
    expect(new Map(written.flat()).size).toBe(12_000);
  });
});
