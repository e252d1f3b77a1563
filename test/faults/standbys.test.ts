import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type ApiResponse, ApiClient, send } from '../harness/http/client.js';
import { DatabaseRelay } from '../harness/database/database-relay.js';
import { expectError } from '../harness/http/error-response.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import { limitsOf } from '../harness/rate-limit/limits.js';
import { findPostgresPrograms } from '../harness/database/postgres-programs.js';
import { PostgresServer } from '../harness/database/postgres-server.js';
import {
  type Environment,
  type LogLine,
  startService,
  type TestService,
} from '../harness/service/service.js';

/** Animals of long ago: no transaction of that time can be open. */
const SETTLED = 40;
/** A read waits for a standby at most 1 s for a connection and 1.25 s for the response. */
const STANDBY_WAIT_MS = 2_250;
const MAX_RESPONSE_MS = 5_000;
const NO_SYNC = { fsync: 'off' };

const programs = findPostgresPrograms();

let primary: PostgresServer;
let near: PostgresServer;
let far: PostgresServer;
let owner: TestOwner;
const servers: PostgresServer[] = [];
const services: TestService[] = [];

(programs === undefined ? describe.skip : describe)('with streaming standbys', () => {
  beforeAll(async () => {
    primary = await PostgresServer.create(programs!, NO_SYNC);
    servers.push(primary);
    owner = await createOwner(primary.database);
    await primary.query(
      `INSERT INTO pets (name, category_id, status, created_at)
       SELECT 'Settled ' || number, 1, 'available', now() - interval '1 hour'
         FROM generate_series(1, ${SETTLED}) AS number`,
    );
    near = await PostgresServer.standbyOf(primary);
    servers.push(near);
    far = await PostgresServer.standbyOf(primary);
    servers.push(far);
    // A standby knows how far it has followed only after it has replayed a transaction.
    await createKey(primary.database, owner.id);
    await Promise.all([caughtUp(near), caughtUp(far)]);
  });
  afterEach(async () => {
    await Promise.all(services.splice(0).map((service) => service.close()));
  });
  afterAll(async () => {
    for (const server of servers.reverse()) await server.remove();
  });

  /** Starts a service with these standbys in rotation, and a client whose key is in the cache. */
  async function start(
    standbys: readonly { url: string }[],
    env: Environment = {},
    features?: string,
  ): Promise<{ service: TestService; client: ApiClient }> {
    const urls = standbys.map(({ url }) => url).join(', ');
    const service = await startService({
      database: primary.database,
      env: { DATABASE_REPLICA_URLS: urls, ...env },
      ...(features && { features }),
    });
    services.push(service);
    for (const index of standbys.keys()) {
      // Not a warning.
      expect((await inRotation(service, index)).level).toBe(30);
    }
    const client = new ApiClient(service, owner.key);
    expect((await client.get('/v1/pets?limit=1')).status).toBe(200);
    return { service, client };
  }

  const inRotation = (service: TestService, index = 0): Promise<LogLine> =>
    service.waitForLog(
      ({ msg, standby }) => msg === 'standby added to rotation' && standby === index,
    );

  /** Returns how many log lines have this message. */
  const timesLogged = (service: TestService, message: string): number =>
    service.logs().filter(({ msg }) => msg === message).length;

  /** Resolves when the standby has replayed everything that is committed now. */
  async function caughtUp(standby: PostgresServer): Promise<void> {
    const [{ position }] = (await primary.query<{ position: string }>(
      'SELECT pg_current_wal_flush_lsn()::text AS position',
    )) as [{ position: string }];
    const replayed = 'SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS done';
    await until(
      async () => (await standby.query<{ done: boolean }>(replayed, [position]))[0]!.done,
    );
  }

  /** Freezes the standby at what is committed now. */
  async function pause(standby: PostgresServer): Promise<void> {
    await caughtUp(standby);
    await standby.query('SELECT pg_wal_replay_pause()');
    const state = 'SELECT pg_get_wal_replay_pause_state() AS state';
    await until(async () => (await standby.query<{ state: string }>(state))[0]!.state === 'paused');
  }

  const resume = (standby: PostgresServer): Promise<unknown> =>
    standby.query('SELECT pg_wal_replay_resume()');

  const add = async (client: ApiClient, name: string): Promise<number> => {
    const { status, json } = await client.post('/v1/pets', { name, categoryId: 1 });
    expect(status).toBe(201);
    return json.id as number;
  };

  /** Adds animals with a creation time the given number of seconds ago. Returns their ids, in order. */
  async function addAged(...seconds: number[]): Promise<number[]> {
    const rows = await primary.query<{ id: string }>(
      `INSERT INTO pets (name, category_id, status, created_at)
       SELECT 'Aged', 1, 'available', now() - make_interval(secs => age)
         FROM unnest($1::int[]) WITH ORDINALITY AS pet (age, number) ORDER BY number RETURNING id`,
      [seconds],
    );
    return rows.map(({ id }) => Number(id));
  }

  /** Returns the ids of all animals, page by page. */
  async function walk(client: ApiClient, first: string): Promise<number[]> {
    const ids: number[] = [];
    for (let path: string | undefined = first; path !== undefined;) {
      const response: ApiResponse = await client.get(path);
      expect(response.status).toBe(200);
      ids.push(...response.json.map(({ id }: { id: number }) => id));
      path = /^<(.+?)>; rel="next"$/.exec(String(response.headers['link']))?.[1];
    }
    return ids;
  }

  it('GET /v1/pets and /v1/pets/{id} › 200 from a standby, with or without a filter', async () => {
    const { client } = await start([near]);
    await pause(near);
    try {
      // The interface cannot do this. It distinguishes the two servers.
      await primary.query(`UPDATE pets SET name = 'Primary' WHERE id = 2`);
      for (const path of ['/v1/pets?limit=3', '/v1/pets?limit=3&status=available', '/v1/pets/2']) {
        const { json } = await client.get(path);
        expect((Array.isArray(json) ? json[1] : json).name).toBe('Settled 2');
      }
      // The response has no other columns of the standby.
      const [pet] = (await client.get('/v1/pets?limit=1')).json;
      expect(Object.keys(pet).sort()).toEqual(['categoryId', 'id', 'name', 'status']);
    } finally {
      await primary.query(`UPDATE pets SET name = 'Settled 2' WHERE id = 2`);
      await resume(near);
    }
  });

  it('GET /v1/pets/{id} › 200 from the primary while the queue for a standby is full, which stays in rotation', async () => {
    const relay = await DatabaseRelay.open(near.url);
    // Admission limits the requests in progress by the number of standbys. With one, its queue
    // never fills up.
    const unreachable = Array<string>(9).fill('postgres://nobody@127.0.0.1:1/none');
    const { service, client } = await start([{ url: relay.url }], {
      DATABASE_REPLICA_URLS: [relay.url, ...unreachable].join(', '),
      DATABASE_POOL_SIZE: '1',
      DATABASE_QUEUE_SIZE: '2',
    });
    await pause(near);
    try {
      await primary.query(`UPDATE pets SET name = 'Primary' WHERE id = 2`);
      relay.slow(100);
      const names: string[] = [];
      const read = async (): Promise<void> => {
        const { status, json } = await client.get('/v1/pets/2');
        expect(status).toBe(200);
        names.push(json.name as string);
      };
      // The standby accepts three batches of eight reads. The primary, with the same limits, serves
      // the others.
      await Promise.all(
        Array.from({ length: 28 }, async () => {
          for (let time = 0; time < 5; time++) await read();
        }),
      );
      expect(new Set(names)).toEqual(new Set(['Primary', 'Settled 2']));
      relay.slow(0);
      await read();
      expect(names.at(-1)).toBe('Settled 2');
      const removed = service.logs().filter(({ msg }) => msg === 'standby removed from rotation');
      expect(removed.map(({ standby }) => standby)).not.toContain(0);
    } finally {
      await primary.query(`UPDATE pets SET name = 'Settled 2' WHERE id = 2`);
      await resume(near);
      await relay.cut();
    }
  });

  it('POST /v1/pets › 201, and found at once by get and by list, which the standby has not seen yet', async () => {
    const { client } = await start([near]);
    await pause(near);
    try {
      const id = await add(client, 'Frank');
      expect(await client.get(`/v1/pets/${id}`)).toMatchObject({ status: 200, json: { id } });
      expect((await walk(client, '/v1/pets?limit=7')).at(-1)).toBe(id);
      expect((await walk(client, '/v1/pets?limit=7&status=available')).at(-1)).toBe(id);
      // The whole store on one page: its end.
      expect((await client.get('/v1/pets?limit=100')).json.at(-1).id).toBe(id);
      expectError(await client.get(`/v1/pets/${id + 1}`), 404, 'pet_not_found');
    } finally {
      await resume(near);
    }
  });

  it.each(['', '&status=available'])(
    'GET /v1/pets › a walk%s visits each animal once, one that was committed after later ones included',
    async (filter) => {
      const { client } = await start([near, far]);
      const late = new Client({ connectionString: primary.url });
      await late.connect();
      try {
        await add(client, 'Before');
        await pause(far);
        await late.query('BEGIN');
        const { rows } = await late.query<{ id: string }>(
          `INSERT INTO pets (name, category_id, status) VALUES ('Late', 1, 'available') RETURNING id`,
        );
        for (let number = 0; number < 10; number++) await add(client, `After ${number}`);
        // It shows the later ones and not this one, as if there were a gap between them.
        await pause(near);
        await late.query('COMMIT');
        // Until the service has asked how far they have followed: this far.
        await sleep(1_100);

        const all = await primary.query<{ id: string }>('SELECT id FROM pets ORDER BY id');
        expect(all.map(({ id }) => id)).toContain(rows[0]!.id);
        // Twice, and once more by a request later: of three walks one begins on the other standby.
        for (const [index, limit] of [1, 1, 1, 3, 8].entries()) {
          if (index === 2) await client.get('/v1/pets?limit=1');
          expect((await walk(client, `/v1/pets?limit=${limit}${filter}`)).map(String)).toEqual(
            all.map(({ id }) => id),
          );
        }
      } finally {
        await late.end();
        await Promise.all([resume(near), resume(far)]);
      }
    },
  );

  it('GET /v1/pets › 200 from a standby for animals older than a minute, from the primary for later ones', async () => {
    const { client } = await start([near]);
    const ids = await addAged(70, 70, 50, 50);
    await pause(near);
    // Until the service has asked how far it has followed.
    await sleep(1_100);
    try {
      await primary.query(`UPDATE pets SET name = 'Primary' WHERE id = ANY ($1)`, [ids]);
      // The row beyond the page, by which it is not the end, is the youngest that counts.
      const [old, , young] = ids as [number, number, number];
      expect((await client.get(pageAfter(old - 1))).json[0].name).toBe('Aged');
      expect((await client.get(pageAfter(young - 1))).json[0].name).toBe('Primary');
    } finally {
      await resume(near);
    }
  });

  it.each(['', 'available'])(
    'GET /v1/pets?status=%s › a page whose first animal is settled and whose last is not comes from the primary',
    async (status) => {
      const { client } = await start([near]);
      const ids = await addAged(70, 70, 70, 50);
      await pause(near);
      // Until the service has asked how far it has followed.
      await sleep(1_100);
      try {
        await primary.query(`UPDATE pets SET name = 'Primary' WHERE id = ANY ($1)`, [ids]);
        const pageOf = async (limit: number): Promise<string[]> => {
          const { json } = await client.get(pageAfter(ids[0]! - 1, limit, status));
          return (json as { name: string }[]).map(({ name }) => name);
        };
        // With the animal after them, by which the page is not the last one, these are all settled.
        expect(await pageOf(2)).toEqual(['Aged', 'Aged']);
        // That animal alone is not settled.
        expect(await pageOf(3)).toEqual(['Primary', 'Primary', 'Primary']);
      } finally {
        await resume(near);
      }
    },
  );

  describe('when a feature changes an animal', () => {
    const features = join(__dirname, '../harness/features/database.mjs');
    const MAX_STALENESS_MS = 5_000;
    const statusOf = async (client: ApiClient, id: number): Promise<string> =>
      (await client.get(`/v1/pets/${id}`)).json.status;
    const listedStatusOf = async (client: ApiClient, id: number): Promise<string> =>
      (await client.get(pageAfter(id - 1))).json[0].status;
    const idsOf = async (client: ApiClient, status: string, after: number): Promise<number[]> =>
      (await client.get(pageAfter(after, 1, status))).json.map(({ id }: { id: number }) => id);

    it.each([
      ['in a transaction', 'sales/11/done', 11],
      ['without a transaction', 'sales/13', 13],
    ])(
      'GET /v1/pets and /v1/pets/{id} › 200 with the change on the same replica at once, on others within five seconds: %s',
      async (_how, path, id) => {
        const { client } = await start([near], {}, features);
        const { client: other } = await start([near]);
        await pause(near);
        try {
          expect(await statusOf(client, id)).toBe('available');
          expect((await client.post(`/v1/database/${path}`, undefined)).status).toBe(201);
          const changedAtMs = performance.now();

          expect(await statusOf(client, id)).toBe('sold');
          expect(await listedStatusOf(client, id)).toBe('sold');
          expect(await idsOf(client, 'available', id - 1)).toEqual([id + 1]);
          expect(await idsOf(client, 'sold', id - 1)).toEqual([id]);
          // The other replica reads from the standby, which does not have the change yet.
          expect(await statusOf(other, id)).toBe('available');
          await until(async () => (await listedStatusOf(other, id)) === 'sold');
          expect(await statusOf(other, id)).toBe('sold');
          expect(performance.now() - changedAtMs).toBeLessThan(MAX_STALENESS_MS + 500);
          // It does not go back to the standby.
          expect(await statusOf(client, id)).toBe('sold');
        } finally {
          await resume(near);
        }
      },
    );

    it('GET /v1/pets/{id} › 200 from the standby again when it has the change', async () => {
      const { client } = await start([near], {}, features);
      expect((await client.post('/v1/database/sales/15/done', undefined)).status).toBe(201);
      await caughtUp(near);
      // Until the service knows it.
      await sleep(2_100);
      await pause(near);
      try {
        await primary.query(`UPDATE pets SET name = 'Primary' WHERE id = 15`);
        expect((await client.get('/v1/pets/15')).json).toMatchObject({
          name: 'Settled 15',
          status: 'sold',
        });
      } finally {
        await resume(near);
      }
    });

    it('GET /v1/pets/{id} › 200 from the standby after a transaction that was rolled back', async () => {
      const { client } = await start([near], {}, features);
      await pause(near);
      try {
        expect((await client.post('/v1/database/sales/17/fails', undefined)).status).toBe(500);
        await primary.query(`UPDATE pets SET name = 'Primary' WHERE id = 17`);
        expect((await client.get('/v1/pets/17')).json.name).toBe('Settled 17');
      } finally {
        await primary.query(`UPDATE pets SET name = 'Settled 17' WHERE id = 17`);
        await resume(near);
      }
    });
  });

  it('GET /v1/pets › 200 from the primary when the standby lags behind by more than five seconds', async () => {
    const { client } = await start([near]);
    await pause(near);
    try {
      await primary.query(`UPDATE pets SET name = 'Primary' WHERE id = 19`);
      expect((await client.get('/v1/pets/19')).json.name).toBe('Settled 19');
      await until(async () => (await client.get('/v1/pets/19')).json.name === 'Primary');
      expect((await client.get(pageAfter(18))).json[0].name).toBe('Primary');
    } finally {
      await primary.query(`UPDATE pets SET name = 'Settled 19' WHERE id = 19`);
      await resume(near);
    }
  });

  it('GET /v1/pets › what is known of one standby is not believed of another behind the same address', async () => {
    const relay = await DatabaseRelay.open(near.url);
    const late = new Client({ connectionString: primary.url });
    await late.connect();
    try {
      const { client } = await start([{ url: relay.url }]);
      await late.query('BEGIN');
      const { rows } = await late.query<{ id: string }>(
        `INSERT INTO pets (name, category_id, status) VALUES ('Late', 1, 'available') RETURNING id`,
      );
      await addAged(3_600, 3_600);
      await pause(far);
      await late.query('COMMIT');
      await caughtUp(near);
      // Until its state is known: then the one that follows the primary has the late one, too.
      await sleep(1_100);
      relay.redirect(far.url);
      const page = pageAfter(Number(rows[0]!.id) - 1);
      const responses = await Promise.all(Array.from({ length: 8 }, () => client.get(page)));
      expect(responses.map(({ json }) => json[0].name)).toEqual(Array(8).fill('Late'));
    } finally {
      await late.end();
      await resume(far);
      await Promise.all(services.splice(0).map((service) => service.close()));
      await relay.cut();
    }
  });

  it('GET /v1/pets › 200 from the primary when the standby has no such table, said once', async () => {
    const service = await startService({
      database: primary.database,
      env: { DATABASE_REPLICA_URLS: near.url.replace(/postgres$/, 'template1') },
    });
    services.push(service);
    await inRotation(service);
    const client = new ApiClient(service, owner.key);
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/pets?status=sold']) {
      expect((await client.get(path)).status).toBe(200);
    }
    expect(timesLogged(service, 'query failed on standby')).toBe(1);
    expect(timesLogged(service, 'standby removed from rotation')).toBe(0);
  });

  describe.each<[string, () => Promise<void>, () => Promise<void>]>([
    ['hangs', () => Promise.resolve(far.freeze()), () => Promise.resolve(far.thaw())],
    ['is killed', () => far.kill(), () => far.start()],
  ])('when one of two %s', (_what, strike, repair) => {
    it('every list and get is 200 within the time limit; the standby is removed from rotation and added again', async () => {
      const { service, client } = await start([near, far]);
      const read = (): Promise<ApiResponse> =>
        client.get(Math.random() < 0.5 ? '/v1/pets?limit=5' : '/v1/pets/5');
      try {
        await strike();
        const first = await timed(() => Promise.all(Array.from({ length: 40 }, read)));
        expect(countByStatus(first.result)).toEqual({ 200: 40 });
        expect(first.ms).toBeLessThan(STANDBY_WAIT_MS + 500);
        await service.waitForLog(
          ({ msg, standby }) => msg === 'standby removed from rotation' && standby === 1,
        );
        const then = await timed(() => Promise.all(Array.from({ length: 40 }, read)));
        expect(countByStatus(then.result)).toEqual({ 200: 40 });
        expect(then.ms).toBeLessThan(1_000);
        expect(timesLogged(service, 'standby removed from rotation')).toBe(1);
      } finally {
        await repair();
      }
      await until(() => Promise.resolve(timesLogged(service, 'standby added to rotation') === 3));
    });
  });

  it('the service starts without a standby, and takes it in when it comes', async () => {
    await far.kill();
    let service: TestService;
    try {
      service = await startService({
        database: primary.database,
        env: { DATABASE_REPLICA_URLS: far.url },
      });
      services.push(service);
      await service.waitForLog(({ msg }) => msg === 'standby removed from rotation');
      expect((await new ApiClient(service, owner.key).get('/v1/pets')).status).toBe(200);
      expect((await send(service, '/health/ready')).status).toBe(200);
    } finally {
      await far.start();
    }
    await inRotation(service);
  });

  it('a standby that hangs keeps nobody from stopping', async () => {
    const { service } = await start([far]);
    far.freeze();
    try {
      expect((await timed(() => service.close())).ms).toBeLessThan(3_000);
    } finally {
      far.thaw();
    }
  });

  describe('while the primary is unavailable and a standby is available', () => {
    it('what a standby can be believed is 200, all else 503, in time; and all is served when it is back', async () => {
      const { service, client } = await start([near]);
      const otherClient = new ApiClient(service, (await createKey(primary.database, owner.id)).key);
      await primary.kill();
      try {
        const { result, ms } = await timed(() =>
          Promise.all([
            client.get('/v1/pets?limit=5'),
            client.get('/v1/pets?limit=5&status=available'),
            client.get('/v1/pets/3'),
            // The end of a list, an animal that is not there, and what is written.
            client.get('/v1/pets?limit=100'),
            client.get('/v1/pets?status=sold'),
            client.get('/v1/pets/999999'),
            client.post('/v1/pets', { name: 'Frank', categoryId: 1 }),
          ]),
        );
        expect(result.map(({ status }) => status)).toEqual([200, 200, 200, 503, 503, 503, 503]);
        for (const response of result.slice(3)) expectError(response, 503, 'service_unavailable');
        expect(ms).toBeLessThan(MAX_RESPONSE_MS);
        // A key is the primary's alone: a revoked one must not live on, on a standby that is
        // behind.
        const unknown = await otherClient.get('/v1/pets?limit=5');
        expectError(unknown, 503, 'service_unavailable');
        expect(limitsOf(unknown)).toMatchObject({ limit: 300, remaining: 300 });
        expect((await send(service, '/health/ready')).status).toBe(503);
      } finally {
        await primary.start();
      }
      await until(async () => (await client.get('/v1/pets?limit=100')).status === 200);
      expect((await otherClient.get('/v1/pets')).status).toBe(200);
      expect((await send(service, '/health/ready')).status).toBe(200);
    });

    it('GET /v1/pets › 503 within 5 seconds when both hang', async () => {
      const { client } = await start([near]);
      primary.freeze();
      near.freeze();
      try {
        const { result, ms } = await timed(() =>
          Promise.all([client.get('/v1/pets'), client.get('/v1/pets/3')]),
        );
        for (const response of result) expectError(response, 503, 'service_unavailable');
        expect(ms).toBeLessThan(MAX_RESPONSE_MS);
      } finally {
        near.thaw();
        primary.thaw();
      }
    });
  });
});

/** Returns the path of the page of one animal that follows another. */
function pageAfter(id: number, limit = 1, status = ''): string {
  const cursor = Buffer.from(`${id}:${status}`).toString('base64url');
  return `/v1/pets?limit=${limit}&cursor=${cursor}${status && `&status=${status}`}`;
}

function countByStatus(responses: readonly ApiResponse[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ result: Result; ms: number }> {
  const startedAt = performance.now();
  const result = await work();
  return { result, ms: performance.now() - startedAt };
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 10_000; !(await condition()); await sleep(20)) {
    if (Date.now() > deadline) throw new Error(`not in time: ${String(condition)}`);
  }
}
