import { ApiClient } from '../../harness/http/client.js';
import { useStore } from '../../harness/http/store.js';
import { metric } from '../../harness/service/metrics.js';

const store = useStore();

const item = { name: 'Frank', categoryId: 1 };
let keys = 0;
const create = () => store.api.post('/v1/items', item);
const createWithKey = () =>
  store.api.post('/v1/items', item, { 'Idempotency-Key': `key-${keys++}` });

/** Lets every insert fail, or a commit, as the server reports it. */
const failWith = (state: string, when: string) =>
  store.query(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE 'the test lets it fail' USING ERRCODE = '${state}'; END $$;
    CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON test_items ${when} FOR EACH ROW EXECUTE FUNCTION fail()`);
afterEach(() => store.query('DROP FUNCTION IF EXISTS fail CASCADE'));

async function state() {
  const { status, json } = await new ApiClient(store.service).get('/health/ready');
  const writes = await metric(store.service, 'component_up{component="database_writes"}');
  return [status, json.status, json.checks.database, writes];
}

const OK = [200, 'ok', 'up', 1];
const DEGRADED = [200, 'degraded', 'read-only', 0];

describe.each([
  ['a create', create],
  ['a create with an Idempotency-Key', createWithKey],
])('after %s that fails', (_title, send) => {
  test.each([
    ['25006', ''],
    ['2200H', ''],
    ['53100', ''],
    ['53200', ''],
    ['58030', ''],
    ['53100', 'DEFERRABLE INITIALLY DEFERRED'],
  ])('with %s, readiness is degraded until a write succeeds (%s)', async (sqlState, when) => {
    expect((await send()).status).toBe(201);
    expect(await state()).toEqual(OK);
    await failWith(sqlState, when);
    expect((await send()).status).toBe(sqlState === '2200H' ? 500 : 503);
    expect(await state()).toEqual(DEGRADED);
    expect((await store.api.get('/v1/items')).status).toBe(200);
    expect(await state()).toEqual(DEGRADED);
    await store.query('DROP FUNCTION fail CASCADE');
    expect((await send()).status).toBe(201);
    expect(await state()).toEqual(OK);
  });

  test.each(['40001', '57014', '23514'])('with %s, readiness is ok', async (sqlState) => {
    await failWith(sqlState, '');
    expect((await send()).status).not.toBe(201);
    expect(await state()).toEqual(OK);
  });
});
