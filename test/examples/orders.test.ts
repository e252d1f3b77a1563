import { CreateOrders1795478400000 } from '../../examples/orders/migrations/1795478400000-create-orders.js';
import { createDatabase, SCHEMA, useDatabase } from '../harness/database/database.js';
import { createOwner, type TestOwner } from '../harness/database/factories.js';
import { expectExampleSchema } from '../harness/database/schema.js';
import { exampleOf, migrateExample } from '../harness/features/examples.js';
import { ApiClient, type ApiResponse } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { Cli, OPERATOR } from '../harness/processes/command.js';
import { startService, type TestService } from '../harness/service/service.js';
import { createPets } from '../harness/database/animals.js';

const PATH = '/v1/orders';

const example = exampleOf('orders');
const database = useDatabase();
let service: TestService;
let owner: TestOwner;
let client: ApiClient;
let petId: number;

beforeAll(async () => {
  await migrateExample(new CreateOrders1795478400000(), database);
  service = await startService({ app: true, database, features: example.modules });
});
beforeEach(async () => {
  // The ids of orders are not used again, because the log has those of earlier tests.
  await database.query('DELETE FROM outbox_events; DELETE FROM orders; DELETE FROM pets');
  // Each owner has a window of its own for the limit of the route.
  owner = await createOwner(database);
  client = new ApiClient(service, owner.key);
  [petId = 0] = (await createPets(database, 1)).map(Number);
});

const buy = (headers: Record<string, string> = {}): Promise<ApiResponse> =>
  client.post(PATH, { petId }, headers);

const ordersOf = (id: number): Promise<object[]> =>
  database.query('SELECT id FROM orders WHERE pet_id = $1', [id]);

const confirmationsOf = (orderId: number): number =>
  service
    .logs()
    .filter((line) => line.msg === 'order confirmed' && line['orderId'] === String(orderId)).length;

/** Resolves when the events of the order are handled. */
const untilConfirmed = (orderId: number): Promise<unknown> =>
  service.waitForLog(
    (line) => line.msg === 'order confirmed' && line['orderId'] === String(orderId),
  );

describe('POST /v1/orders', () => {
  it('201 with the order, and the animal is sold', async () => {
    const { status, json } = await buy();
    expect(status).toBe(201);
    expect(json).toEqual({ id: expect.any(Number), petId, confirmedAt: null });
    expect((await client.get(`/v1/pets/${petId}`)).json).toMatchObject({ status: 'sold' });
  });

  it('confirms the order once, after a retry and after a second delivery of the event', async () => {
    const headers = { 'Idempotency-Key': 'sale-2' };
    const { id } = (await buy(headers)).json;
    await buy(headers);
    await untilConfirmed(id);
    const confirmedAt = new Date(service.nowMs()).toISOString();
    await database.query(
      `INSERT INTO outbox_events (event, payload, handler)
       VALUES ('order.created', $1, 'OrderConfirmations.confirm')`,
      [JSON.stringify({ orderId: `${id}` })],
    );
    const pending = 'SELECT FROM outbox_events';
    // The pause of a handler without events ends on this clock.
    while ((await database.query(pending)).length > 0) await service.advance(1_000);
    expect(confirmationsOf(id)).toBe(1);
    expect((await client.get(`${PATH}/${id}`)).json).toEqual({
      id,
      petId,
      confirmedAt,
    });
  });

  it('one 201 and otherwise 409 when several callers buy at the same time', async () => {
    const responses = await Promise.all(Array.from({ length: 6 }, () => buy()));
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    expect(await ordersOf(petId)).toHaveLength(1);
  });
});

test("GET /v1/orders/{orderId} › 404 for another owner's order", async () => {
  const { id } = (await buy()).json;
  const other = new ApiClient(service, (await createOwner(database)).key);
  expect((await client.get(`${PATH}/${id}`)).status).toBe(200);
  expectError(await other.get(`${PATH}/${id}`), 404, 'not_found');
  expectError(await client.get(`${PATH}/x`), 404, 'not_found');
});

describe('orders cancel', () => {
  const options = { app: true, features: [example.modules] } as const;
  const cancel = (...args: unknown[]) =>
    new Cli({ DATABASE_URL: database.url }, options).run('orders', 'cancel', ...args.map(String));
  const audited = () =>
    database.query(
      `SELECT actor, details FROM operator_actions WHERE action = 'orders cancel' ORDER BY id`,
    );

  it('cancels the orders, makes their animals available, and records it', async () => {
    const ids: number[] = [];
    const [other = 0n] = await createPets(database, 1);
    for (const each of [petId, Number(other)])
      ids.push((await client.post(PATH, { petId: each })).json.id);
    expect(await cancel(...ids)).toMatchObject({ code: 1, stdout: '' });
    const { code, json, stderr } = await cancel(...ids, '--yes', '--json');
    const cancelled = [petId, Number(other)].map((each, index) => ({
      orderId: ids[index],
      petId: each,
    }));
    expect({ code, json }).toEqual({ code: 0, json: cancelled });
    expect(stderr).toContain(`\nThis cancels the orders ${ids.join(', ')} in ${database.name} on `);
    expect(await audited()).toEqual([{ actor: OPERATOR, details: { cancelled } }]);
    expect((await client.get(`/v1/pets/${petId}`)).json).toMatchObject({ status: 'available' });
  });

  it('changes and records nothing when one of the orders does not exist', async () => {
    const before = await audited();
    const { id } = (await buy()).json;
    expect(await cancel(id, 4711, '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/\nYou have no order with this identifier\.\n$/),
    });
    expect(await ordersOf(petId)).toHaveLength(1);
    expect(await audited()).toEqual(before);
  });

  it('runs no event handler, which is left to the service', async () => {
    const separate = await createDatabase();
    await migrateExample(new CreateOrders1795478400000(), separate);
    await separate.query(
      `INSERT INTO outbox_events (event, payload, handler)
       VALUES ('order.created', '{"orderId":"1"}', 'OrderConfirmations.confirm')`,
    );
    const cli = new Cli({ DATABASE_URL: separate.url }, options);
    expect(await cli.run('orders', 'cancel', '1', '--yes')).toMatchObject({ code: 1 });
    expect(await separate.query('SELECT attempts FROM outbox_events')).toEqual([{ attempts: 0 }]);
    await separate.close();
  });
});

it('the schema is, by the migration, what the entity declares', async () => {
  const migrated = await createDatabase(SCHEMA);
  await migrateExample(new CreateOrders1795478400000(), migrated);
  await expectExampleSchema(migrated, example.folder);
  await migrated.close();
});
