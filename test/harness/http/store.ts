import { join } from 'node:path';
import { type TestDatabase, useDatabase } from '../database/database.js';
import { createOwner, type TestOwner } from '../database/factories.js';
import { startService, type TestService } from '../service/service.js';
import { ApiClient, type ApiResponse } from './client.js';

type StoreOptions = NonNullable<Parameters<typeof startService>[0]>;

/** A service, and an owner with high limits. */
export interface Store {
  readonly service: TestService;
  readonly database: TestDatabase;
  readonly owner: TestOwner;
  /** Sends the API key of the owner. */
  readonly api: ApiClient;
  /** Sends no API key. */
  readonly anonymous: ApiClient;
  query: TestDatabase['query'];
  /** Returns what sends requests of an API key that do not read items. */
  asks(key: string): () => Promise<ApiResponse>;
}

/**
 * Starts a service before the tests of a file or of a `describe`, and closes it after them. Its
 * properties can be used in tests and hooks.
 *
 * @param options `features` are the names of files in test/harness/features. A function receives
 *   the database of the store, and can prepare it or put a relay in front of it.
 */
export function useStore(
  options: StoreOptions | ((database: TestDatabase) => Promise<StoreOptions>) = {},
): Store {
  const database = useDatabase();
  const store = { database, service: {} as TestService } as {
    -readonly [Name in keyof Store]: Store[Name];
  };
  beforeAll(async () => {
    const chosen = typeof options === 'function' ? await options(database) : options;
    const features = [chosen.features ?? []].flat().map((name) => featureFile(name));
    Object.assign(store.service, await startService({ database, ...chosen, features }));
    store.query = (sql, values) => database.query(sql, values);
    store.owner = await createOwner(database);
    store.api = new ApiClient(store.service, store.owner.key);
    store.anonymous = new ApiClient(store.service);
    store.asks = (key) => () => new ApiClient(store.service, key).get('/v1/nothing');
  });
  return store;
}

/** Returns the path of a file of test/harness/features, compiled by the set-up of the test run. */
export function featureFile(name: string): string {
  return join(__dirname, '../../../reports/product/test/harness/features', `${name}.js`);
}
