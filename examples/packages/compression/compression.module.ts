import { Controller, Get, type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import compression from 'compression';

@Controller('poems')
export class PoemsController {
  @Get()
  get(): { poem: string } {
    return { poem: 'a rose is '.repeat(500) };
  }
}

@Module({ controllers: [PoemsController] })
export class PoemsModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(compression()).forRoutes(PoemsController);
  }
}
