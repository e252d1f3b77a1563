import {
  BullModule,
  type BullRootModuleOptions,
  InjectQueue,
  Processor,
  WorkerHost,
} from '@nestjs/bullmq';
import { Controller, Get, HttpCode, Logger, Module, Param, Post } from '@nestjs/common';
import type { Job, Queue } from 'bullmq';
import { Settings } from '../platform/config/settings.js';

/** Returns the Redis server of the rate limits (REDIS_URL). */
function redisConnection({ redis }: Settings): BullRootModuleOptions {
  const [node] = redis?.address.nodes ?? [];
  if (!redis || !node) throw new Error('Set REDIS_URL.');
  const { username, password, database: db } = redis.address;
  return { connection: { ...node, username, password, db } };
}

@Processor('letters')
export class LettersProcessor extends WorkerHost {
  private readonly logger = new Logger(LettersProcessor.name);

  process({ data }: Job<{ to: string }>): Promise<void> {
    if (data.to === 'nobody') return Promise.reject(new Error('There is no recipient.'));
    this.logger.log('letter sent', data);
    return Promise.resolve();
  }
}

@Controller('letters')
export class LettersController {
  constructor(@InjectQueue('letters') private readonly queue: Queue<{ to: string }>) {}

  @Get()
  counts(): Promise<Record<string, number>> {
    return this.queue.getJobCounts('failed');
  }

  @Post(':to')
  @HttpCode(202)
  async create(@Param('to') to: string): Promise<void> {
    await this.queue.add('letter', { to });
  }
}

@Module({
  imports: [
    BullModule.forRootAsync({ inject: [Settings], useFactory: redisConnection }),
    BullModule.registerQueue({ name: 'letters' }),
  ],
  controllers: [LettersController],
  providers: [LettersProcessor],
})
export class LettersModule {}
