// A feature with a setting.
import { Controller, Get, Module } from '@nestjs/common';
import { Public, readSettings } from '#platform';

@Public()
@Controller('greeting')
class GreetingController {
  private readonly settings = readSettings((read) => ({ greeting: read.text('GREETING', '') }));

  @Get()
  read() {
    return this.settings;
  }
}

@Module({ controllers: [GreetingController] })
class GreetingFeature {}
export default [GreetingFeature];
