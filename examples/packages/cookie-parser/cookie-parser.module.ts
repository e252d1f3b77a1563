import {
  Controller,
  Get,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  Req,
} from '@nestjs/common';
import cookieParser from 'cookie-parser';
import type { NextFunction, Request, Response } from 'express';

/** Middleware of a feature, as a function. */
export function rejectRobots(request: Request, _response: Response, next: NextFunction): void {
  if (request.header('user-agent') === 'robot') throw new Error('A robot called.');
  next();
}

@Controller('sessions')
export class SessionsController {
  @Get()
  get(@Req() request: Request): { theme: unknown } {
    return { theme: request.cookies['theme'] };
  }
}

@Module({ controllers: [SessionsController] })
export class SessionsModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(cookieParser(), rejectRobots).forRoutes(SessionsController);
  }
}
