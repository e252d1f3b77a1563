// @ts-check
// Routes with a limit of their own.
import { Get } from '@nestjs/common';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { controller, feature } from './decorate.mjs';

const reports = controller(
  { path: 'reports', version: '1' },
  {
    monthly: [Get('monthly')],
    yearly: [Get('yearly')],
    often: [Get('often'), Throttle({ default: { limit: 4, ttl: 60_000 } })],
    skipped: [Get('skipped'), SkipThrottle()],
  },
  Throttle({ default: { limit: 2, ttl: 10_000 } }),
);
const free = controller({ path: 'free', version: '1' }, { read: [Get('read')] });

export default [feature({ controllers: [reports, free] })];
