import { Controller, Get, Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';

@Controller('greeting')
export class GreetingController {
  constructor(private readonly config: ConfigService) {}

  @Get()
  greet(): { greeting: string } {
    return { greeting: this.config.getOrThrow<string>('GREETING') };
  }
}

@Module({ imports: [ConfigModule.forRoot()], controllers: [GreetingController] })
export class GreetingModule {}
