// @ts-check
// Routes of a feature that are not counted, or open to everyone.
import { Get } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { Public } from '#dist/platform/access/public.decorator.js';
import { controller, feature } from './decorate.mjs';

const uncounted = controller(
  { path: 'uncounted', version: '1' },
  { skipped: [Get('skipped')], counted: [Get('counted'), SkipThrottle({ default: false })] },
  SkipThrottle(),
);
const plain = controller(
  { path: 'plain', version: '1' },
  {
    skipped: [Get('skipped'), SkipThrottle()],
    counted: [Get('counted')],
    open: [Get('open'), Public()],
    free: [Get('free'), Public(), SkipThrottle()],
    limited: [Get('limited'), Public(), Throttle({ default: { limit: 1, ttl: 60_000 } })],
  },
);
const open = controller({ path: 'open', version: '1' }, { open: [Get('open')] }, Public());

export default [feature({ controllers: [uncounted, plain, open] })];
