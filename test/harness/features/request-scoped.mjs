// @ts-check
// A feature whose interceptor NestJS would create for each request.
import { Module, Scope } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';

class Timing {
  /** @type {import('@nestjs/common').NestInterceptor['intercept']} */
  intercept(_context, next) {
    return next.handle();
  }
}

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- the decorator is all of it
class RequestScopedModule {}
Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: Timing, scope: Scope.REQUEST }] })(
  RequestScopedModule,
);

export default [RequestScopedModule];
