// @ts-check
// A feature that has no Logger and imports the modules that features share.
import { Controller, Get, Module } from '@nestjs/common';
import { Public } from '#dist/platform/access/public.decorator.js';
import { EventsModule } from '#dist/platform/events/events.module.js';
import { currentRequestIds } from '#dist/platform/http/request/request-context.js';
import { IdempotencyModule } from '#dist/platform/idempotency/idempotency.module.js';

class ContextController {
  show() {
    return { tracked: currentRequestIds() !== undefined };
  }
}
Controller({ path: 'context', version: '1' })(ContextController);
const method = /** @type {PropertyDescriptor} */ (
  Object.getOwnPropertyDescriptor(ContextController.prototype, 'show')
);
Get()(ContextController.prototype, 'show', method);
Public()(ContextController.prototype, 'show', method);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what is decorated below
class ContextModule {}
Module({ controllers: [ContextController], imports: [EventsModule, IdempotencyModule] })(
  ContextModule,
);

export default [ContextModule];
