// @ts-check
// A feature that registers interceptors, a guard, a pipe and filters as APP_…, as in the documentation of NestJS.
import {
  Body,
  Catch,
  ClassSerializerInterceptor,
  Controller,
  ForbiddenException,
  Get,
  HttpException,
  Module,
  Post,
  UseFilters,
  ValidationPipe,
} from '@nestjs/common';
import {
  APP_FILTER,
  APP_GUARD,
  APP_INTERCEPTOR,
  APP_PIPE,
  BaseExceptionFilter,
  HttpAdapterHost,
} from '@nestjs/core';
import { Exclude, Type } from 'class-transformer';
import { IsOptional, IsString, ValidateNested } from 'class-validator';
import { map } from 'rxjs';
import { PetsModule } from '#dist/pets/pets.module.js';
import { CallerKey } from '#dist/platform/access/caller-key.decorator.js';
import { ServiceError } from '#dist/platform/errors/service-error.js';
import { Page } from '#dist/platform/http/response/handler-result.js';
import { IdempotencyKey } from '#dist/platform/idempotency/idempotency-key.decorator.js';
import { IdempotencyModule } from '#dist/platform/idempotency/idempotency.module.js';
import { Idempotency } from '#dist/platform/idempotency/idempotency.js';
import { decorate, feature } from './decorate.mjs';

/** How often the work of a create has run. */
let runs = 0;

class Toy {
  price = 5;
  /** @param {string} name @param {number} run */
  constructor(name, run) {
    this.name = name;
    this.run = run;
  }
}
Exclude()(Toy.prototype, 'price');

class Box {
  colour = '';
}
IsString()(Box.prototype, 'colour');

class NewToy {
  name = '';
}
IsString()(NewToy.prototype, 'name');
IsOptional()(NewToy.prototype, 'box');
ValidateNested()(NewToy.prototype, 'box');
Type(() => Box)(NewToy.prototype, 'box');

class ToysController {
  /** @param {Idempotency} idempotency */
  constructor(idempotency) {
    this.idempotency = idempotency;
  }
  list() {
    return new Page([new Toy('Rope', 0)], { cursor: '2' });
  }
  /** @param {NewToy} toy @param {import('#dist/platform/access/cached-key.js').CachedKey} caller
   * @param {string | undefined} key */
  create({ name }, { ownerId }, key) {
    if (key === undefined) return new Toy(name, ++runs);
    return this.idempotency.once({ ownerId, key, operation: 'toy', content: { name } }, () =>
      Promise.resolve(new Toy(name, ++runs)),
    );
  }
  fail() {
    throw new ServiceError('conflict', 'The toy is sold.');
  }
}
Reflect.defineMetadata('design:paramtypes', [Idempotency], ToysController);
Reflect.defineMetadata(
  'design:paramtypes',
  [NewToy, Object, String],
  ToysController.prototype,
  'create',
);
Body()(ToysController.prototype, 'create', 0);
CallerKey()(ToysController.prototype, 'create', 1);
IdempotencyKey()(ToysController.prototype, 'create', 2);
decorate(ToysController, 'list', Get());
decorate(ToysController, 'create', Post());
decorate(ToysController, 'fail', Get('fail'));
Controller({ path: 'toys', version: '1' })(ToysController);

class PlainController {
  find() {
    return new Toy('Rope', 0);
  }
}
decorate(PlainController, 'find', Get());
Controller({ path: 'plain', version: '1' })(PlainController);

class NestedController extends PlainController {}
Controller({ path: 'nested', version: '1' })(NestedController);

const envelope = {
  /** @param {unknown} _context @param {import('@nestjs/common').CallHandler} next */
  intercept: (_context, next) =>
    next.handle().pipe(
      map((data) => {
        if (data?.name === 'forbidden') throw new ForbiddenException('No such name.');
        return { data };
      }),
    ),
};

const guard = {
  /** @param {import('@nestjs/common').ExecutionContext} context */
  canActivate: (context) => !context.switchToHttp().getRequest().headers['x-stop'],
};

class AllExceptions {
  /** @param {HttpAdapterHost} host */
  constructor(host) {
    this.host = host;
  }
  /** @param {unknown} exception @param {import('@nestjs/common').ArgumentsHost} host */
  catch(exception, host) {
    const status = exception instanceof HttpException ? exception.getStatus() : 500;
    const response = host.switchToHttp().getResponse();
    this.host.httpAdapter.reply(response, { caught: status }, status);
  }
}
Reflect.defineMetadata('design:paramtypes', [HttpAdapterHost], AllExceptions);
Catch()(AllExceptions);

/** As in the documentation of NestJS. */
class OwnFilter extends BaseExceptionFilter {
  /** @override @param {unknown} exception @param {import('@nestjs/common').ArgumentsHost} host */
  catch(exception, host) {
    super.catch(exception, host);
  }
}
Catch()(OwnFilter);
class FilteredController {
  fail() {
    throw new ForbiddenException('Not today.');
  }
}
decorate(FilteredController, 'fail', Get(), UseFilters(new OwnFilter()));
Controller({ path: 'filtered', version: '1' })(FilteredController);

const nested = feature({ controllers: [NestedController] });
// A package that other modules import.
const filters = feature({ providers: [{ provide: APP_FILTER, useClass: AllExceptions }] });
const toys = feature({
  imports: [IdempotencyModule, PetsModule, nested, filters],
  controllers: [ToysController],
  providers: [
    { provide: APP_INTERCEPTOR, useValue: envelope },
    { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor },
    { provide: APP_GUARD, useValue: guard },
    {
      provide: APP_PIPE,
      useValue: new ValidationPipe({
        whitelist: true,
        forbidNonWhitelisted: true,
        transform: true,
      }),
    },
  ],
});
const other = feature({ controllers: [PlainController, FilteredController] });

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- the decorator is all of it
class AppModule {}
Module({
  imports: [toys, other],
  providers: [
    {
      provide: APP_INTERCEPTOR,
      useValue: {
        /** @type {import('@nestjs/common').NestInterceptor['intercept']} */
        intercept(context, next) {
          context.switchToHttp().getResponse().setHeader('X-Every-Feature', 'yes');
          return next.handle();
        },
      },
    },
  ],
})(AppModule);

export default [AppModule];
