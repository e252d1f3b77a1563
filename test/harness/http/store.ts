import { join } from 'node:path';
import { createOwner, type TestOwner } from '../database/factories.js';
import { startService, type TestService } from '../service/service.js';
import { ApiClient } from './client.js';

type StoreOptions = NonNullable<Parameters<typeof startService>[0]>;

/** A service, and an owner with high limits. */
export interface Store {
  readonly service: TestService;
  readonly owner: TestOwner;
  /** Sends the API key of the owner. */
  readonly api: ApiClient;
  /** Sends no API key. */
  readonly anonymous: ApiClient;
  query: TestService['database']['query'];
}

/**
 * Starts a service before the tests of a file or of a `describe`, and closes it after them. Its
 * properties can be used in tests and hooks.
 *
 * @param options `features` are the names of files in test/harness/features
 */
export function useStore({ features = [], ...options }: StoreOptions = {}): Store {
  const store = {} as { -readonly [Name in keyof Store]: Store[Name] };
  let service: TestService | undefined;
  beforeAll(async () => {
    const paths = [features].flat().map((name) => join(__dirname, `../features/${name}.mjs`));
    service = await startService({ ...options, features: paths });
    store.service = service;
    const { database } = service;
    store.query = (sql, values) => database.query(sql, values);
    store.owner = await createOwner(database);
    store.api = new ApiClient(store.service, store.owner.key);
    store.anonymous = new ApiClient(store.service);
  });
  // The start can have failed.
  afterAll(() => service?.close());
  return store;
}
