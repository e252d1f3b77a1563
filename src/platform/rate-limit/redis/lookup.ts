import { type LookupAddress, promises } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Shorter than the time limit of a connection, so that its failure names the lookup. */
const LIMIT_MS = 800;

/** The lookups that have not ended, by name. */
const pending = new Map<string, Promise<LookupAddress[]>>();
let latest: Promise<unknown> = Promise.resolve();

/**
 * Looks up a name for `connect` of a socket, as Node.js does, but only one name of Redis at a time. A lookup
 * without a response occupies one of two threads that Node.js has for lookups, and those of PostgreSQL need
 * the other one.
 */
export const lookupOneAtATime: LookupFunction = (name, { all }, callback) => {
  const limit = delay(LIMIT_MS, undefined, { ref: false }).then(() => {
    throw new Error(`The lookup of ${name} got no response in ${LIMIT_MS / 1000} s`);
  });
  Promise.race([addressesOf(name), limit]).then(
    (addresses) => {
      if (all) callback(null, addresses);
      else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
    },
    (error: unknown) => callback(error as Error, []),
  );
};

function addressesOf(name: string): Promise<LookupAddress[]> {
  let addresses = pending.get(name);
  if (!addresses) {
    addresses = latest
      .then(() => promises.lookup(name, { all: true }))
      .finally(() => pending.delete(name));
    pending.set(name, addresses);
    latest = addresses.catch(() => undefined);
  }
  return addresses;
}
