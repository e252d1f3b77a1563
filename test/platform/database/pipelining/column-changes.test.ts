import { changeColumns } from '../../../harness/database/column-changes.js';
import { createItems, createKey } from '../../../harness/database/factories.js';
import { MixedLoad } from '../../../harness/http/mixed-load.js';
import { useStore } from '../../../harness/http/store.js';

/** Requests wait for a migration as long as a busy machine needs. */
const PATIENT = {
  DATABASE_STATEMENT_TIMEOUT_SECONDS: '20',
  DATABASE_LOCK_TIMEOUT_SECONDS: '20',
  DATABASE_POOL_WAIT_SECONDS: '20',
};
const store = useStore({ env: { ...PATIENT, DATABASE_POOL_SIZE: '3' }, features: 'database' });

test('a migration that changes columns causes no 5xx, in any use of the database', async () => {
  const ids = await createItems(store.database, 20);
  const keys: string[] = [];
  for (let key = 0; key < 60; key++) {
    keys.push((await createKey(store.database, store.owner.id)).key);
  }
  const load = new MixedLoad(store.service, store.owner.key, keys);
  const { api } = store;
  let keyed = 0;
  await changeColumns(store.query, load, async (change) => {
    const responses = await Promise.all([
      ...[1, 2, 3, 4].map(() => api.get('/v1/database/items')),
      ...[1, 2, 3, 4].map(() => api.post(`/v1/database/sales/${ids[keyed]}/done`, undefined)),
    ]);
    const headers = { 'Idempotency-Key': `change-${keyed++}` };
    const body = { name: 'Frank', categoryId: 1 };
    for (const _ of [1, 2]) responses.push(await api.post('/v1/items', body, headers));
    const failed = responses.filter(({ status }) => status >= 300);
    expect([change, failed.map(({ text }) => text)]).toEqual([change, []]);
  });
  const failed = load.sent.filter(({ response }) => response.status >= 500);
  expect(failed.map(({ kind, response }) => [kind, response.text])).toEqual([]);
  expect(load.broken).toEqual([]);
});
