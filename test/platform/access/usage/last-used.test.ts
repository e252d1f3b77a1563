import { ApiClient } from '../../../harness/http/client.js';
import { holdAfter, holdTable } from '../../../harness/database/database-lock.js';
import { createKey, createOwner } from '../../../harness/database/factories.js';
import { useStore } from '../../../harness/http/store.js';
import { MINUTE_MS } from '../../../harness/rate-limit/limits.js';
import { START_MS, startService } from '../../../harness/service/service.js';

const store = useStore();

it('the last use is stored to the minute when the service stops, never earlier than the creation or another use', async () => {
  const { database } = store;
  const laterMs = START_MS + 5 * MINUTE_MS;
  const createdMs = START_MS + 90_000;
  const { id, ...old } = await createOwner(database);
  const keys = {
    used: old,
    unused: await createKey(database, id),
    revoked: await createKey(database, id, { revokedAtMs: START_MS }),
    usedElsewhere: await createKey(database, id),
    new: await createKey(database, id),
  };
  // API keys are older than the clock of the service, whatever the date.
  await database.query('UPDATE api_keys SET created_at = $1 WHERE owner_id = $2', [
    new Date(START_MS),
    id,
  ]);
  const set = (column: string, atMs: number, keyId: string) =>
    database.query(`UPDATE api_keys SET ${column} = $1 WHERE id = $2`, [new Date(atMs), keyId]);
  await set('last_used_at', laterMs, keys.usedElsewhere.keyId);
  await set('created_at', createdMs, keys.new.keyId);

  const service = await startService({ database, nowMs: START_MS + 59_999 });
  await new ApiClient(service, keys.used.key).get('/v1/items');
  await service.setClock(START_MS + 2 * MINUTE_MS - 1);
  for (const { key } of [keys.used, keys.revoked, keys.usedElsewhere, keys.new]) {
    await new ApiClient(service, key).get('/v1/nothing');
  }
  await service.close();

  const rows = await database.query<{ id: string; at: Date | null }>(
    'SELECT id, last_used_at AS at FROM api_keys WHERE owner_id = $1 ORDER BY id',
    [id],
  );
  expect(rows.map(({ at }) => at?.getTime())).toEqual([
    START_MS + MINUTE_MS,
    undefined,
    undefined,
    laterMs,
    createdMs,
  ]);
});

it('a use while earlier ones are being stored is stored later', async () => {
  const { service } = store;
  const { key, keyId } = await createOwner(service.database);
  const ask = () => new ApiClient(service, key).get('/v1/nothing');
  await ask();
  const lock = await holdTable(service.database, 'api_keys', 'EXCLUSIVE');
  const stored = service.runJob('KeyUsage.save');
  await lock.waitedFor();
  await service.advance(MINUTE_MS);
  await ask();
  await lock.release();
  await stored;
  await service.runJob('KeyUsage.save');
  const [row] = await service.database.query<{ at: Date }>(
    'SELECT last_used_at AS at FROM api_keys WHERE id = $1',
    [keyId],
  );
  expect(row?.at.getTime()).toBe(START_MS + MINUTE_MS);
});

it('the batch skips rows that are locked, by a command or another replica, and the next one stores them', async () => {
  const { service, database } = store;
  const { id, ...locked } = await createOwner(database);
  const keys = [await createKey(database, id), locked, await createKey(database, id)];
  for (const { key } of keys) await new ApiClient(service, key).get('/v1/nothing');
  const stored = async () => {
    await service.runJob('KeyUsage.save');
    const sql =
      'SELECT id FROM api_keys WHERE owner_id = $1 AND last_used_at IS NOT NULL ORDER BY id';
    return (await database.query<{ id: string }>(sql, [id])).map((row) => row.id);
  };
  const lockRow = 'SELECT FROM api_keys WHERE id = $1 FOR UPDATE';
  const lock = await holdAfter(database, lockRow, [locked.keyId]);
  const others = keys.filter((key) => key !== locked).map(({ keyId }) => keyId);
  for (let run = 0; run < 2; run++) expect(await stored()).toEqual(others);
  await lock.release();
  expect(await stored()).toEqual([locked.keyId, ...others]);
});
