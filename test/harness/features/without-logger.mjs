// @ts-check
// A feature that has no Logger and imports the modules that features share.
import { Controller, Get } from '@nestjs/common';
import { Public } from '#dist/platform/access/public.decorator.js';
import { EventsModule } from '#dist/platform/events/events.module.js';
import { currentRequestIds } from '#dist/platform/http/request/request-context.js';
import { IdempotencyModule } from '#dist/platform/idempotency/idempotency.module.js';
import { decorate, feature } from './decorate.mjs';

class ContextController {
  show() {
    return { tracked: currentRequestIds() !== undefined };
  }
}
Controller({ path: 'context', version: '1' })(ContextController);
decorate(ContextController, 'show', Get(), Public());

export default [
  feature({ controllers: [ContextController], imports: [EventsModule, IdempotencyModule] }),
];
