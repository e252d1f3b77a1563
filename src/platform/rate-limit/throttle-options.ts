import type { DiscoveryService } from '@nestjs/core';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { StartError } from '../errors/start-error.js';
import { decoratedTargets } from '../http/request/handler.js';

/** Returns the metadata that the decorators of @nestjs/throttler set for a throttler, by key. */
function metadataFor(throttler: string): Map<string, unknown> {
  const limits = { [throttler]: { limit: 1, ttl: 1 } };
  const skips = { [throttler]: true };
  const example = (): void => undefined;
  Throttle(limits)(example);
  SkipThrottle(skips)(example);
  const keys = Reflect.getMetadataKeys(example) as string[];
  return new Map(keys.map((key) => [key, Reflect.getMetadata(key, example)]));
}

/** The package does not export the keys. This reads how they begin, without the name of a throttler. */
const PREFIXES = [...metadataFor('').keys()];

/** The others, such as `blockDuration`, are undefined here. */
const SUPPORTED = [...metadataFor('default')].flatMap(([key, value]) =>
  value === undefined ? [] : key,
);

/**
 * Checks the decorators `@Throttle()` and `@SkipThrottle()` of all routes.
 *
 * @throws StartError for another throttler than `default`, which would have no effect, and for an option
 *   that PlanThrottlerGuard cannot keep
 */
export function checkThrottleOptions(discovery: DiscoveryService): void {
  for (const [name, target] of decoratedTargets(discovery)) {
    for (const key of (Reflect.getMetadataKeys(target) as unknown[]).map(String)) {
      const prefix = PREFIXES.find((each) => key.startsWith(each));
      const isSet = Reflect.getMetadata(key, target) !== undefined;
      if (prefix === undefined || !isSet || SUPPORTED.includes(key)) continue;
      const option = key.slice(key.indexOf(':') + 1);
      throw new StartError(
        `${name}: @Throttle() and @SkipThrottle() accept only 'default', with limit and ttl (${option})`,
      );
    }
  }
}
