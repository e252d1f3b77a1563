import { existsSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { Relay } from '../harness/database/relay.js';
import { createKey, createOwner, type TestOwner } from '../harness/database/factories.js';
import { type ApiResponse, ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { useStore } from '../harness/http/store.js';
import {
  askUntil,
  DAY_MS,
  limitsOf,
  notifyChange,
  SECOND_MS,
  sequentially,
} from '../harness/rate-limit/limits.js';
import { START_MS, startService } from '../harness/service/service.js';

const store = useStore({ env: { BAN_AFTER_REJECTIONS: '2', BAN_SECONDS: '3600' } });

type Ask = () => Promise<ApiResponse>;

/** A request that needs no query of the animals. */
function asks(key: string): Ask {
  const client = new ApiClient(store.service, key);
  return () => client.get('/v1/nothing');
}

const REVOKE = 'UPDATE api_keys SET revoked_at = now() WHERE owner_id = $1 AND id = $2';
const EXPIRY = new Date(START_MS).toISOString();
const isInvalid = ({ status }: ApiResponse): boolean => status === 401;
const revoke = ({ id, keyId }: TestOwner) => store.query(REVOKE, [id, keyId]);

describe.each<[string, { sql: string; holds: (response: ApiResponse) => boolean; bans?: true }]>([
  ['a revocation', { sql: REVOKE, holds: isInvalid }],
  [
    'an expiry',
    {
      sql: `UPDATE api_keys SET expires_at = '${EXPIRY}' WHERE owner_id = $1 AND id = $2`,
      holds: isInvalid,
    },
  ],
  [
    'another plan',
    {
      sql: `UPDATE owners SET plan = 'business', limit_per_minute = NULL, limit_per_day = NULL
             WHERE id = $1 AND $2 > 0`,
      holds: (response) => limitsOf(response).limit === 1_000,
    },
  ],
  [
    'another limit',
    {
      sql: 'UPDATE owners SET limit_per_minute = 7 WHERE id = $1 AND $2 > 0',
      holds: (response) => limitsOf(response).limit === 7,
    },
  ],
  [
    'an unban',
    {
      bans: true,
      sql: 'UPDATE api_keys SET unban_count = unban_count + 1 WHERE owner_id = $1 AND id = $2',
      holds: ({ json }) => json.code !== 'api_key_banned',
    },
  ],
])('a request after %s', (_, { sql, holds, bans }) => {
  it.each(['at once when it is notified', 'after five seconds when it is not'])(
    'applies it %s',
    async (when) => {
      const limits = { perMinute: 20, perDay: 1_000_000 };
      const owner = await createOwner(store.database, { limits });
      const other = await createOwner(store.database);
      const [ask, askAsOther] = [asks(owner.key), asks(other.key)];
      await askAsOther();
      expect(holds(await sequentially(bans ? 24 : 2, ask))).toBe(false);
      await store.query(sql, [owner.id, owner.keyId]);
      if (when.startsWith('at once')) {
        await notifyChange(store.database, owner.id);
        await askUntil(ask, holds);
      } else {
        // Not even if the last lookup was two seconds ago.
        await store.service.advance(2 * SECOND_MS);
        expect(holds(await ask())).toBe(false);
        await store.service.advance(3 * SECOND_MS);
        expect(holds(await ask())).toBe(true);
      }
      expect((await askAsOther()).status).toBe(404);
    },
  );
});

it('a plan change applies to every key of the owner', async () => {
  const owner = await createOwner(store.database, { plan: 'free' });
  const other = await createKey(store.database, owner.id);
  for (const { key } of [owner, other]) expect(limitsOf(await asks(key)()).limit).toBe(60);
  await store.query(`UPDATE owners SET plan = 'pro' WHERE id = $1`, [owner.id]);
  await notifyChange(store.database, owner.id);
  for (const { key } of [owner, other]) {
    await askUntil(asks(key), (response) => limitsOf(response).limit === 300);
  }
});

it.each(['', 'owner', '-1', '1.5', '99999999999999999999'])(
  'a malformed notification (%j) invalidates all keys',
  async (payload) => {
    const owner = await createOwner(store.database);
    const ask = asks(owner.key);
    await ask();
    await revoke(owner);
    await notifyChange(store.database, payload);
    await askUntil(ask, isInvalid);
  },
);

it('changes without a LISTEN connection apply after the reconnection', async () => {
  const owner = await createOwner(store.database);
  const ask = asks(owner.key);
  await ask();
  await store.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'pets key changes'`,
  );
  await revoke(owner);
  await askUntil(ask, isInvalid);
});

it('the log has one line when the LISTEN connection cannot be opened, and one when it is open again', async () => {
  const relay = await Relay.open(store.database.url);
  const service = await startService({
    database: store.database,
    env: { DATABASE_URL: relay.url },
  });
  try {
    await relay.cut();
    const unavailable = 'not listening for changes of API keys';
    await service.waitForLog(({ msg }) => msg === unavailable);
    // Connections are lost at once, and counted.
    await relay.restore();
    relay.redirect('postgres://127.0.0.1:1/none');
    const { accepted } = relay;
    while (relay.accepted < accepted + 3) await setTimeout(20);
    relay.redirect(store.database.url);
    await service.waitForLog(({ msg }) => msg === 'listening for changes of API keys again');
    expect(service.logs().filter(({ msg }) => msg === unavailable)).toHaveLength(1);
  } finally {
    await service.close();
  }
});

it('an attempt to LISTEN that gets no response ends before five seconds have passed', async () => {
  const relay = await Relay.open(store.database.url);
  const service = await startService({
    database: store.database,
    env: { DATABASE_URL: relay.url },
  });
  try {
    await relay.cut();
    await relay.restore();
    relay.hold('pets key changes');
    const heldAtMs = performance.now();
    await service.waitForLog(({ msg }) => msg === 'not listening for changes of API keys');
    expect(performance.now() - heldAtMs).toBeLessThan(5_000);
  } finally {
    await service.close();
  }
});

const CONNECTIONS = '/proc/net/tcp';

(existsSync(CONNECTIONS) ? it : it.skip)(
  'the LISTEN connection is probed after five idle seconds, so that it ends if the machine vanishes',
  async () => {
    const relay = await Relay.open(store.database.url);
    const service = await startService({
      database: store.database,
      env: { DATABASE_URL: relay.url },
    });
    try {
      const port = Number(new URL(relay.url).port).toString(16).toUpperCase();
      // See proc(5). A timer of type 2 is for keep-alive, and its time is in hundredths of a second.
      const connection = new RegExp(
        `:[0-9A-F]{4} 0100007F:${port.padStart(4, '0')} 01 \\S+ 02:([0-9A-F]{8})`,
        'g',
      );
      const seconds = [...readFileSync(CONNECTIONS, 'utf8').matchAll(connection)].map(
        ([, time = '']) => parseInt(time, 16) / 100,
      );
      expect(Math.min(...seconds)).toBeLessThanOrEqual(5);
    } finally {
      await service.close();
    }
  },
);

it('a key is valid until the millisecond of its expiry', async () => {
  const expiresAtMs = store.service.nowMs() + 1_500;
  const ask = asks((await createKey(store.database, store.owner.id, { expiresAtMs })).key);
  expect((await ask()).status).toBe(404);
  await store.service.setClock(expiresAtMs - 1);
  expect((await ask()).status).toBe(404);
  await store.service.setClock(expiresAtMs);
  expectError(await ask(), 401, 'invalid_api_key');
});

it('after a rotation, both keys share one budget until the overlap ends', async () => {
  const owner = await createOwner(store.database, { limits: { perMinute: 100, perDay: 100 } });
  const expiresAtMs = store.service.nowMs() + DAY_MS;
  const successorOf = { firstKeyId: owner.keyId };
  const old = asks((await createKey(store.database, owner.id, { expiresAtMs })).key);
  const successor = asks((await createKey(store.database, owner.id, successorOf)).key);
  expect(limitsOf(await old()).remaining).toBe(99);
  expect(limitsOf(await successor()).remaining).toBe(98);
  await store.service.setClock(expiresAtMs - 1);
  expect(limitsOf(await old()).remaining).toBe(97);
  await store.service.setClock(expiresAtMs);
  expect((await old()).status).toBe(401);
  expect((await successor()).status).toBe(404);
});
