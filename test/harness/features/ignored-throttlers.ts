// Options of decorators that would have no effect. The query of the module's URL selects one of them.
import { Controller, Get, Module } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';

const LIMIT = { limit: 1, ttl: 1_000 };
const DECORATORS: Record<string, MethodDecorator & ClassDecorator> = {
  name: Throttle({ short: LIMIT }),
  'one-of-two': Throttle({ default: LIMIT, long: LIMIT }),
  skip: SkipThrottle({ short: true }),
  block: Throttle({ default: { ...LIMIT, blockDuration: 1_000 } }),
  tracker: Throttle({ default: { ...LIMIT, getTracker: () => 'all' } }),
  key: Throttle({ default: { ...LIMIT, generateKey: () => 'all' } }),
};
const [, place = '', name = ''] = new URL(import.meta.url).search.split(/[?=]/);

@Controller('limited')
class LimitedController {
  @Get()
  find() {
    return {};
  }
}

const decorate = DECORATORS[name]!;
const { prototype } = LimitedController;
if (place === 'class') decorate(LimitedController);
else decorate(prototype, 'find', Object.getOwnPropertyDescriptor(prototype, 'find')!);

@Module({ controllers: [LimitedController] })
class LimitedFeature {}
export default [LimitedFeature];
