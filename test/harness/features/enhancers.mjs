// @ts-check
// An AppModule that registers a guard, an interceptor, a pipe and filters as APP_…, as in the documentation of NestJS.
import {
  Catch,
  ClassSerializerInterceptor,
  ConflictException,
  Controller,
  ForbiddenException,
  Get,
  ImATeapotException,
  Param,
} from '@nestjs/common';
import {
  APP_FILTER,
  APP_GUARD,
  APP_INTERCEPTOR,
  APP_PIPE,
  BaseExceptionFilter,
} from '@nestjs/core';
import { Exclude } from 'class-transformer';
import { decorateAll, feature } from './decorate.mjs';

class Toy {
  name = 'Rope';
  price = 5;
}
Exclude()(Toy.prototype, 'price');

class ToysController {
  find() {
    return new Toy();
  }
  /** @param {string} error */
  fail(error) {
    return error;
  }
}
decorateAll(ToysController, { find: [Get()], fail: [Get(':error')] });
Param('error')(ToysController.prototype, 'fail', 0);
Controller('toys')(ToysController);

const guard = {
  /** @param {import('@nestjs/common').ExecutionContext} context */
  canActivate: (context) => !context.switchToHttp().getRequest().headers['x-stop'],
};

const interceptor = {
  /** @type {import('@nestjs/common').NestInterceptor['intercept']} */
  intercept(context, next) {
    context.switchToHttp().getResponse().setHeader('X-Every-Route', 'yes');
    return next.handle();
  },
};

const pipe = {
  /** @param {unknown} value @param {import('@nestjs/common').ArgumentMetadata} metadata */
  transform(value, { type, data }) {
    if (value === 'conflict') throw new ConflictException('The pipe rejects it.');
    if (value === 'teapot') throw new ImATeapotException('No coffee.');
    if (value === 'defect') throw new Error(`a defect in ${type} ${data}`);
    return value;
  },
};

class TeapotFilter {
  /** @param {unknown} _exception @param {import('@nestjs/common').ArgumentsHost} host */
  catch(_exception, host) {
    host.switchToHttp().getResponse().status(418).json({ caught: true });
  }
}
Catch(ImATeapotException)(TeapotFilter);

class OwnFilter extends BaseExceptionFilter {}
Catch(ForbiddenException)(OwnFilter);

export default [
  feature({
    controllers: [ToysController],
    providers: [
      { provide: APP_GUARD, useValue: guard },
      { provide: APP_INTERCEPTOR, useValue: interceptor },
      { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor },
      { provide: APP_PIPE, useValue: pipe },
      { provide: APP_FILTER, useClass: TeapotFilter },
      { provide: APP_FILTER, useClass: OwnFilter },
    ],
  }),
];
