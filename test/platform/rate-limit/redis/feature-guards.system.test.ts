import { Controller, Get, Module, UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { getOptionsToken, ThrottlerGuard } from '@nestjs/throttler';
import { Public } from '#platform';
import { useDatabase } from '../../../harness/database/database.js';
import { describeWithAnyRedis, openRedis } from '../../../harness/processes/redis.js';
import { DAY_MS } from '../../../harness/rate-limit/limits.js';
import { startTestingApp } from '../../../harness/service/testing-app.js';

const database = useDatabase();

const LIMIT = { provide: getOptionsToken(), useValue: [{ name: 'login', limit: 2, ttl: DAY_MS }] };

@Public()
@Controller('login')
class LoginController {
  @Get()
  login() {
    return {};
  }
}

@UseGuards(ThrottlerGuard)
@Controller('login')
class GuardedController extends LoginController {}

@Module({ controllers: [GuardedController], providers: [LIMIT] })
class GuardedModule {}

@Module({
  controllers: [LoginController],
  providers: [LIMIT, { provide: APP_GUARD, useClass: ThrottlerGuard }],
})
class GloballyGuardedModule {}

describeWithAnyRedis('a ThrottlerGuard of a feature', () => {
  it.each([
    ['of a controller', GuardedModule],
    ['APP_GUARD', GloballyGuardedModule],
  ])(
    '%s counts over all replicas: 429 with the headers of the platform',
    async (_title, feature) => {
      const redis = await openRedis();
      const env = { REDIS_URL: redis.url };
      const apps = await Promise.all(
        [1, 2].map(() => startTestingApp({ database, features: [feature], env })),
      );
      const statuses: number[] = [];
      for (const { url } of [...apps, ...apps]) {
        const response = await fetch(`${url}/v1/login`);
        statuses.push(response.status);
        expect(response.headers.get('ratelimit-policy')).toBe('"minute";q=300;w=60');
        expect(response.headers.get('x-ratelimit-limit')).toBe('300');
      }
      expect(statuses).toEqual([200, 200, 429, 429]);
      for (const { app } of apps) await app.close();
      await redis.close();
    },
  );
});
