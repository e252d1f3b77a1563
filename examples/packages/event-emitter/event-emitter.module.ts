import { Body, Controller, Get, HttpCode, Injectable, Logger, Module, Post } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { IsText } from '../platform/http/validation/property-rules.js';

export class NewVisitDto {
  @IsText(1, 50)
  visitor!: string;
}

@Injectable()
export class VisitListener {
  readonly visitors: string[] = [];
  private readonly logger = new Logger(VisitListener.name);

  @OnEvent('visit.created')
  add(visit: NewVisitDto): void {
    this.visitors.push(visit.visitor);
    this.logger.log('visit added', { visitor: visit.visitor });
  }

  @OnEvent('visit.created')
  async notify(): Promise<void> {
    return Promise.reject(new Error('The mail server is down.'));
  }
}

@Controller('visits')
export class VisitsController {
  constructor(
    private readonly events: EventEmitter2,
    private readonly listener: VisitListener,
  ) {}

  @Post()
  @HttpCode(202)
  create(@Body() visit: NewVisitDto): void {
    this.events.emit('visit.created', visit);
  }

  @Get()
  list(): string[] {
    return this.listener.visitors;
  }
}

@Module({
  imports: [EventEmitterModule.forRoot()],
  controllers: [VisitsController],
  providers: [VisitListener],
})
export class VisitsModule {}
