import 'reflect-metadata';
import { type CallHandler, Controller, Get, Req, UseInterceptors } from '@nestjs/common';
import { cachingProblems } from '../../src/platform/access/cached-route-check.js';
import { CallerKey, callerKeyProblems } from '../../src/platform/access/caller-key.decorator.js';
import { Public } from '../../src/platform/access/public.decorator.js';

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
  const handler = { controller: ToysController, name, method, isRequestScoped: false };
  expect(cachingProblems(handler)).toEqual(
    fails
      ? [
          `ToysController.${name}: CacheInterceptor would send the response for one caller to others. Extend it, and let trackBy() return a key with the owner.`,
        ]
      : [],
  );
});

test('the start fails for a cached route whose providers can read the request', () => {
  const [name, method] = ['list', Reflect.get(ToysController.prototype, 'list')] as const;
  const handler = { controller: ToysController, name, method, isRequestScoped: true };
  expect(cachingProblems(handler)).toHaveLength(1);
});

test('the start fails for a public route that takes the API key of its caller', () => {
  class Open {
    @Public()
    @Get()
    list(@CallerKey() _key: object) {
      return {};
    }
  }
  const [name, method] = ['list', Reflect.get(Open.prototype, 'list')] as const;
  expect(callerKeyProblems({ controller: Open, name, method, isRequestScoped: false })).toEqual([
    'Open.list: a @Public() route has no @CallerKey(). Remove one of them.',
  ]);
});
