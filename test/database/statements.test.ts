import { type DatabaseLock, holdPets } from '../harness/database/database-lock.js';
import { createPets } from '../harness/database/factories.js';
import type { ApiResponse } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { type Store, useStore } from '../harness/http/store.js';
import type { Environment } from '../harness/service/service.js';

let ids: string[];

function open(env: Environment): Store {
  const store = useStore({ env: { DATABASE_POOL_WAIT_SECONDS: '0.5', ...env } });
  beforeAll(async () => {
    ids = await createPets(store.database, 3);
    // From here on the key is known.
    expect((await store.api.get('/v1/pets')).status).toBe(200);
  });
  return store;
}

const idsOf = ({ json }: ApiResponse): string[] => json.map(({ id }: { id: number }) => String(id));

/** Makes every statement on animals wait for as long as the work takes. */
async function whileAnimalsAreLocked(
  { database }: Store,
  work: (lock: DatabaseLock) => Promise<void>,
): Promise<void> {
  const lock = await holdPets(database);
  try {
    await work(lock);
  } finally {
    await lock.release();
  }
}

/** Returns the service's statements that wait for a lock in the server. */
const waiting = ({ query }: Store) =>
  query(
    `SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'pets' AND wait_event_type = 'Lock'`,
  );

function expectUnavailable(response: ApiResponse): void {
  expect(expectError(response, 503, 'service_unavailable')).toBe(
    'The service cannot reach its database at the moment. Try again later.',
  );
  expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
}

describe('when a statement does not work', () => {
  const store = open({ DATABASE_STATEMENT_TIMEOUT_SECONDS: '0.3' });

  it.each([
    ['GET', '/v1/pets'],
    ['GET', '/v1/pets?status=sold'],
    ['GET', '/v1/pets/1'],
    ['POST', '/v1/pets'],
  ])(
    '%s %s › 503 when it takes too long, 500 without internal details when it can never succeed',
    async (method, path) => {
      const request = (): Promise<ApiResponse> =>
        method === 'GET'
          ? store.api.get(path)
          : store.api.post(path, { name: 'Frank', categoryId: 7 });
      await whileAnimalsAreLocked(store, async () => {
        expectUnavailable(await request());

        // The server has given it up, too.
        expect(await waiting(store)).toEqual([]);
      });
      expect((await request()).status).toBeLessThan(300);

      await store.query('ALTER TABLE pets RENAME COLUMN category_id TO category');
      const response = await request();
      await store.query('ALTER TABLE pets RENAME COLUMN category TO category_id');

      expect(expectError(response, 500, 'internal_error')).toBe(
        'The service failed to handle the request.',
      );
      const line = await store.service.waitForLog(
        ({ requestId, err }) => requestId === response.headers['x-request-id'] && err !== undefined,
      );
      expect(JSON.stringify(line)).toContain('category_id');
    },
  );
});

describe('when the only connection is at work', () => {
  const store = open({
    DATABASE_POOL_SIZE: '1',
    DATABASE_POOL_WAIT_SECONDS: '0.3',
    DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
    DATABASE_LOCK_TIMEOUT_SECONDS: '2',
  });

  it('GET /v1/pets › 503 to who waits too long for it, 200 to who has it', async () => {
    let first: Promise<ApiResponse> | undefined;
    await whileAnimalsAreLocked(store, async (lock) => {
      first = store.api.get('/v1/pets');
      await lock.waitedFor();

      expectUnavailable(await store.api.get('/v1/pets'));
    });

    expect((await first)?.status).toBe(200);
  });

  it('GET /v1/pets › 503 when it breaks, and then a response over a new one', async () => {
    await whileAnimalsAreLocked(store, async (lock) => {
      const response = store.api.get('/v1/pets');
      await lock.waitedFor();
      await store.query(
        `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'pets'::regclass AND NOT granted`,
      );

      expectUnavailable(await response);
    });

    expect(idsOf(await store.api.get('/v1/pets'))).toEqual(ids);
  });

  it('GET /v1/pets › 503 when it does not get a lock in time', async () => {
    await whileAnimalsAreLocked(store, async () =>
      expectUnavailable(await store.api.get('/v1/pets')),
    );
  });
});
