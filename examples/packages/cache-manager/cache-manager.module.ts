import { CACHE_MANAGER, type Cache, CacheInterceptor, CacheModule } from '@nestjs/cache-manager';
import { Controller, Get, Inject, Module, UseInterceptors } from '@nestjs/common';

@Controller('statistics')
export class StatisticsController {
  private computed = 0;

  constructor(@Inject(CACHE_MANAGER) private readonly cache: Cache) {}

  @Get('last')
  async last(): Promise<{ computed: number }> {
    return { computed: (await this.cache.get<number>('computed')) ?? 0 };
  }

  @Get()
  @UseInterceptors(CacheInterceptor)
  async compute(): Promise<{ computed: number }> {
    this.computed += 1;
    await this.cache.set('computed', this.computed, 60_000);
    return { computed: this.computed };
  }
}

@Module({ imports: [CacheModule.register()], controllers: [StatisticsController] })
export class StatisticsModule {}
