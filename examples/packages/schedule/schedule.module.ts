import { Controller, Get, Logger, Module } from '@nestjs/common';
import { Cron, CronExpression, Interval, ScheduleModule } from '@nestjs/schedule';

@Controller('reminders')
export class RemindersController {
  private readonly logger = new Logger(RemindersController.name);
  private sent = 0;

  @Cron(CronExpression.EVERY_SECOND)
  send(): void {
    this.sent += 1;
    this.logger.log('reminder sent');
  }

  @Interval(100)
  fail(): void {
    throw new Error('The mail server is down.');
  }

  @Get()
  count(): { sent: number } {
    return { sent: this.sent };
  }
}

@Module({
  imports: [ScheduleModule.forRoot()],
  controllers: [RemindersController],
})
export class RemindersModule {}
