// An AppModule with a guard, an interceptor and middleware, as in the documentation of NestJS, and a
// service that logs.
import { setTimeout as delay } from 'node:timers/promises';
import {
  Controller,
  type ExecutionContext,
  ForbiddenException,
  Get,
  Logger,
  type MiddlewareConsumer,
  Module,
  Param,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import type { NextFunction, Request, Response } from 'express';
import { map } from 'rxjs';
import { EntityManager } from 'typeorm';
import { PipelinedStatements } from '../../../src/platform/database/pipelining/pipelined-statements.js';

@Controller('wares')
class WaresController {
  private readonly logger = new Logger('Wares');

  constructor(
    private readonly manager: EntityManager,
    private readonly statements: PipelinedStatements,
  ) {}

  /** Logs after each kind of wait. */
  @Get('sold/:ware')
  async sell(@Param('ware') ware: string) {
    await this.statements.read('SELECT $1::int', [1], (columns) => columns);
    this.logger.log({ msg: 'sold', ware, after: 'statement' });
    await this.manager.transaction((inner) => inner.query('SELECT 1'));
    this.logger.log({ msg: 'sold', ware, after: 'transaction' });
    await delay(1);
    this.logger.log({ msg: 'sold', ware, after: 'timer' });
  }

  @Get(':ware')
  find(@Param('ware') ware: string) {
    return { ware };
  }
}

const guard = {
  canActivate: (context: ExecutionContext) =>
    context.switchToHttp().getRequest<Request>().headers['x-stop'] === undefined,
};
const interceptor: NestInterceptor = {
  intercept(context, next) {
    context.switchToHttp().getResponse<Response>().setHeader('X-Every-Route', 'yes');
    return next.handle();
  },
};
/** Wraps every result if the caller asks for it. */
const envelope: NestInterceptor = {
  intercept(context, next) {
    const { headers } = context.switchToHttp().getRequest<Request>();
    return next.handle().pipe(map((data: unknown) => (headers['x-wrap'] ? { data } : data)));
  },
};
function middleware(request: Request, response: Response, next: NextFunction): void {
  const rejection = request.headers['x-reject'];
  if (rejection === 'exception') throw new ForbiddenException('Not from here.');
  if (rejection === 'response') response.status(403).json({ own: true });
  else if (rejection === 'private') {
    next(Object.assign(new Error('secret'), { expose: false, status: 502 }));
  } else if (rejection === 'public') {
    // As the package http-errors makes it, which middleware of Express uses.
    next(Object.assign(new Error('Too much.'), { expose: true, statusCode: 413 }));
  } else next();
}

@Module({
  controllers: [WaresController],
  providers: [
    { provide: APP_GUARD, useValue: guard },
    { provide: APP_INTERCEPTOR, useValue: interceptor },
    { provide: APP_INTERCEPTOR, useValue: envelope },
  ],
})
class WaresFeature {
  configure(consumer: MiddlewareConsumer) {
    consumer.apply(middleware).forRoutes('{*path}');
  }
}
export default [WaresFeature];
