import 'reflect-metadata';
import { type CallHandler, Controller, Get, Req, UseInterceptors } from '@nestjs/common';
import { cachingProblems } from '../../src/platform/access/cached-route-check.js';
import { CallerKey } from '../../src/platform/access/caller-key.decorator.js';

/** As in @nestjs/cache-manager. */
class CacheInterceptor {
  trackBy(): string {
    return '/v1/toys';
  }
  intercept(_context: object, next: CallHandler) {
    return next.handle();
  }
}
class SlowCacheInterceptor extends CacheInterceptor {}
class OwnerCacheInterceptor extends CacheInterceptor {
  override trackBy(): string {
    return 'owner 1 /v1/toys';
  }
}

@Controller('toys')
class ToysController {
  @Get()
  @UseInterceptors(CacheInterceptor)
  list() {
    return {};
  }
  @Get()
  @UseInterceptors(CacheInterceptor)
  ofCaller(@CallerKey() _key: object) {
    return {};
  }
  @Get()
  @UseInterceptors(new SlowCacheInterceptor())
  ofRequest(@Req() _request: object) {
    return {};
  }
  @Get()
  @UseInterceptors(OwnerCacheInterceptor)
  byOwner(@CallerKey() _key: object) {
    return {};
  }
  @Get()
  uncached(@CallerKey() _key: object) {
    return {};
  }
}

test.each([
  ['list', false],
  ['ofCaller', true],
  ['ofRequest', true],
  ['byOwner', false],
  ['uncached', false],
] as const)('the start fails for a cached route that gets the caller: %s %s', (name, fails) => {
  const { [name]: method } = ToysController.prototype as unknown as Record<string, object>;
  if (!method) throw new Error(`no ${name}`);
  expect(cachingProblems({ controller: ToysController, name, method })).toEqual(
    fails
      ? [
          `ToysController.${name}: CacheInterceptor would send the response for one caller to others. Extend it, and let trackBy() return a key with the owner.`,
        ]
      : [],
  );
});
