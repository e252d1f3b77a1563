import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  Module,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import type { Request, Response } from 'express';

@Catch()
export class ProblemFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const status = exception instanceof HttpException ? exception.getStatus() : 500;
    const { url } = http.getRequest<Request>();
    http.getResponse<Response>().status(status).json({ statusCode: status, path: url });
  }
}

@Controller('problems')
export class ProblemsController {
  @Get()
  list(): never {
    throw new Error('There are too many.');
  }
}

@Module({
  controllers: [ProblemsController],
  providers: [{ provide: APP_FILTER, useClass: ProblemFilter }],
})
export class ProblemsModule {}
