import { Controller, Get, type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import helmet from 'helmet';

@Controller('framed')
export class FramedController {
  @Get()
  get(): { framed: boolean } {
    return { framed: false };
  }
}

@Module({ controllers: [FramedController] })
export class FramedModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(helmet()).forRoutes(FramedController);
  }
}
