import { SECOND_MS } from '../config/clock.js';
import type { RouteHandler } from '../http/request/route-handlers.js';
import { readRouteCounting } from './route-counting.js';

/** The metadata of @nestjs/throttler, which it does not export: a prefix and a throttler's name. */
const THROTTLER_METADATA = /^THROTTLER:(LIMIT|TTL|SKIP|BLOCK_DURATION|TRACKER|KEY_GENERATOR)(.*)$/;

/** More than any route can serve in a day. */
const MAX_LIMIT = 2 ** 32 - 1;

/** The options of `@Throttle()` that have no effect, by the prefix of their metadata. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  BLOCK_DURATION: 'blockDuration',
  TRACKER: 'getTracker',
  KEY_GENERATOR: 'generateKey',
};

/** Returns one line for each decorator of @nestjs/throttler that would not limit the route as it says. */
export function routeLimitProblems({ controller, name, method }: RouteHandler): string[] {
  const problems = [method, controller].flatMap(unsupportedOptions);
  const { quota } = readRouteCounting(controller, method);
  if (quota) {
    const { limit, lengthMs } = quota;
    if (!(Number.isInteger(limit) && limit > 0 && limit <= MAX_LIMIT)) {
      problems.push('The limit of @Throttle() must be an integer from 1 to 4294967295.');
    }
    if (!(Number.isSafeInteger(lengthMs) && lengthMs > 0 && lengthMs % SECOND_MS === 0)) {
      problems.push('The ttl of @Throttle() must be whole seconds, in milliseconds: 60_000.');
    }
  }
  return problems.map((problem) => `${controller.name}.${name}: ${problem}`);
}

function unsupportedOptions(target: object): string[] {
  return (Reflect.getMetadataKeys(target) as unknown[]).flatMap((key) => {
    const [, kind = '', throttler] = THROTTLER_METADATA.exec(String(key)) ?? [];
    if (throttler === undefined) return [];
    if (throttler !== 'default') {
      return [`The throttler '${throttler}' does not exist. The only one is 'default'.`];
    }
    const option = UNSUPPORTED[kind];
    if (option === undefined || Reflect.getMetadata(key, target) === undefined) return [];
    return [`@Throttle() does not support ${option}. It supports limit and ttl.`];
  });
}

/** Limits are counted by the names of the controller and the handler. Returns those that clash. */
export function sharedWindows(handlers: readonly RouteHandler[]): string[] {
  const owners = new Map<string, object>();
  return handlers.flatMap(({ controller, method }) => {
    const route = readRouteCounting(controller, method).quota?.route;
    if (route === undefined) return [];
    const owner = owners.get(route) ?? controller;
    owners.set(route, owner);
    if (owner === controller) return [];
    return [`${route}: another controller with @Throttle() has the same name. Rename one of them.`];
  });
}
