import { Controller, Get, Module } from '@nestjs/common';
import { SentryModule } from '@sentry/nestjs/setup';

@Controller('crashes')
export class CrashesController {
  @Get()
  list(): string[] {
    return [];
  }

  @Get('1')
  crash(): never {
    throw new Error('It crashed.');
  }
}

@Module({ imports: [SentryModule.forRoot()], controllers: [CrashesController] })
export class CrashesModule {}
