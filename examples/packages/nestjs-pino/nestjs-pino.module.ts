import { Controller, Get, Module, NotFoundException } from '@nestjs/common';
import { InjectPinoLogger, LoggerModule, PinoLogger } from 'nestjs-pino';
import type { Logger } from 'pino';
import { LOGGER } from '#platform';

@Controller('notes')
export class NotesController {
  constructor(@InjectPinoLogger(NotesController.name) private readonly logger: PinoLogger) {}

  @Get()
  list(): string[] {
    this.logger.info({ count: 0 }, 'notes listed');
    return [];
  }

  @Get('1')
  missing(): never {
    throw new NotFoundException('No such note.');
  }
}

@Module({
  imports: [
    LoggerModule.forRootAsync({
      inject: [LOGGER],
      useFactory: (logger: Logger) => ({
        pinoHttp: { logger, autoLogging: false, quietReqLogger: true },
      }),
    }),
  ],
  controllers: [NotesController],
})
export class NotesModule {}
