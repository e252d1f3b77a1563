import { Controller, Get, Module, NotFoundException, Param, Post } from '@nestjs/common';
import {
  Command,
  CommandBus,
  CommandHandler,
  CqrsModule,
  EventBus,
  EventsHandler,
  type ICommandHandler,
  type IEventHandler,
} from '@nestjs/cqrs';

export class FeedCommand extends Command<{ fed: string }> {
  constructor(readonly name: string) {
    super();
  }
}

export class FedEvent {
  constructor(readonly name: string) {}
}

@CommandHandler(FeedCommand)
export class FeedHandler implements ICommandHandler<FeedCommand> {
  constructor(private readonly events: EventBus) {}

  async execute({ name }: FeedCommand): Promise<{ fed: string }> {
    if (name === 'nobody') throw new NotFoundException('No animal has this name.');
    this.events.publish(new FedEvent(name));
    return Promise.resolve({ fed: name });
  }
}

@EventsHandler(FedEvent)
export class FedHandler implements IEventHandler<FedEvent> {
  handle({ name }: FedEvent): void {
    throw new Error(`${name} is still hungry.`);
  }
}

@Controller('meals')
export class MealsController {
  constructor(private readonly commands: CommandBus) {}

  @Get()
  list(): string[] {
    return [];
  }

  @Post(':name')
  feed(@Param('name') name: string): Promise<{ fed: string }> {
    return this.commands.execute(new FeedCommand(name));
  }
}

@Module({
  imports: [CqrsModule.forRoot()],
  controllers: [MealsController],
  providers: [FeedHandler, FedHandler],
})
export class MealsModule {}
