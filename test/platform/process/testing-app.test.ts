import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Counter } from 'prom-client';
import { DataSource, EntityManager } from 'typeorm';
import retry from 'p-retry';
import { AdministrationModule, Clock, KeyAdministration, queryRows } from '#platform';
import { PlatformModule } from '../../../src/platform/platform.module.js';
import { PRODUCT } from '../../../src/product.js';
import { ServiceMetrics } from '../../../src/platform/metrics/service-metrics.js';
import { useDatabase } from '../../harness/database/database.js';
import { createOwner } from '../../harness/database/factories.js';
import features from '../../harness/features/greeting.js';
import { PLANS } from '../../harness/features/store/plans.js';
import { featureFile } from '../../harness/http/store.js';
import { type Environment, startService } from '../../harness/service/service.js';
import { startTestingApp } from '../../harness/service/testing-app.js';

const SENT = new Counter({ name: 'letters_sent_total', help: 'Letters' });

@Injectable()
class Letters {
  send(): string {
    return `sent to ${process.env['LETTERS_ADDRESS']}`;
  }
}

@Controller('letters')
class LettersController {
  constructor(
    private readonly letters: Letters,
    private readonly manager: EntityManager,
    // A class of `#platform` is the one that the platform provides.
    private readonly clock: Clock,
  ) {}

  @Get()
  send() {
    SENT.inc(this.clock.now() > 0 ? 1 : 0);
    return { result: this.letters.send() };
  }

  @Get('lost')
  lose() {
    throw new Error('The letter is lost.');
  }

  @Get('day')
  async day() {
    return (await queryRows<object>(this.manager, `SELECT '2021-02-03'::date AS day`))[0];
  }
}

@Module({ controllers: [LettersController], providers: [Letters] })
class LettersModule {}

test('a test imports packages that are ES modules only, and has import.meta', async () => {
  expect(await retry(() => 'tried')).toBe('tried');
  expect([import.meta.dirname, import.meta.filename]).toEqual([__dirname, __filename]);
  expect(import.meta.url).toMatch(/^file:.*testing-app\.test\.ts$/);
});

describe('a test of a feature in the process of the service', () => {
  const database = useDatabase();
  const ask = async (url: string, path = '') => {
    const headers = { Authorization: `Bearer ${(await createOwner(database)).key}` };
    return fetch(`${url}/v1/letters${path}`, { headers });
  };

  it('sets variables of the environment, and passes the steps of the platform', async () => {
    process.env['LETTERS_ADDRESS'] = 'nowhere';
    const { app, url } = await startTestingApp({ database, features: [LettersModule] });
    const response = await ask(url);

    expect(await response.json()).toEqual({ result: 'sent to nowhere' });
    expect(response.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/);
    expect((await fetch(`${url}/v1/letters`)).status).toBe(401);
    expect(app.get(Letters).send()).toBe('sent to nowhere');
  });

  it('prints the cause of a 500, with its line', async () => {
    const { url } = await startTestingApp({ database, features: [LettersModule] });
    const print = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const response = await ask(url, '/lost');
    const printed = print.mock.calls.join('\n');
    print.mockRestore();

    expect(response.status).toBe(500);
    expect(printed).toContain('GET /v1/letters/lost 500');
    expect(printed).toMatch(
      /The letter is lost\.[^]+LettersController\.lose .+testing-app\.test\.ts:\d+/,
    );
  });

  it('prints the cause of a 500 also of a feature in the build', async () => {
    const service = await startService({ database, app: true, features: featureFile('database') });
    const { key } = await createOwner(database);
    const print = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(`${service.url}/v1/database/failures/type`, { headers });
    await service.waitForLog(({ status }) => status === 500);
    const printed = print.mock.calls.join('\n');
    print.mockRestore();
    await service.close();

    expect(response.status).toBe(500);
    expect(printed).toMatch(/invalid input syntax for type integer[^]+ at /);
  });

  it('sends a date as it is stored, in every time zone, and has its metrics with those of the platform', async () => {
    process.env['TZ'] = 'Europe/Berlin';
    const { app, url } = await startTestingApp({ database, features: [LettersModule] });

    expect(await (await ask(url, '/day')).json()).toEqual({ day: '2021-02-03' });
    expect(await app.get(ServiceMetrics).text()).toMatch(/^letters_sent_total \d+$/m);
  });

  it('gives a provider the DataSource when the schema is up to date', async () => {
    const schemaReady = sleep(50).then(() => database.query('CREATE TABLE late ()'));
    const useFactory = (source: DataSource) => source.query('SELECT FROM late');
    @Module({ providers: [{ provide: 'ROWS', inject: [DataSource], useFactory }] })
    class LateModule {}
    const { app } = await startTestingApp({ database, features: [LateModule], schemaReady });
    expect(app.get('ROWS', { strict: false })).toEqual([]);
  });

  it('replaces a provider', async () => {
    const { url } = await startTestingApp({
      database,
      features: [LettersModule],
      override: (module) => module.overrideProvider(Letters).useValue({ send: () => 'replaced' }),
    });

    expect(await (await ask(url)).json()).toEqual({ result: 'replaced' });
  });
});

describe('the settings of a feature', () => {
  const database = useDatabase();
  const greetings = ['hello', 'good day'];

  it.each([
    ['startTestingApp', (env: Environment) => startTestingApp({ database, env, features })],
    [
      'startService',
      (env: Environment) => startService({ database, env, features: featureFile('greeting') }),
    ],
  ])(
    'are those that %s gets, also for two at once, and fetch does not delay their end',
    async (_name, start) => {
      const services = await Promise.all(greetings.map((GREETING) => start({ GREETING })));
      const responses = services.map(({ url }) => fetch(`${url}/v1/greeting`));
      const settings = (await Promise.all(responses)).map((response) => response.json());
      expect(await Promise.all(settings)).toEqual(greetings.map((greeting) => ({ greeting })));
      expect(process.env).not.toHaveProperty('GREETING');
      for (const service of services) await ('app' in service ? service.app : service).close();
    },
  );
});

const PRO = { plan: 'pro', limitPerMinute: null, limitPerDay: null } as const;

@Injectable()
class SignUp {
  constructor(
    private readonly keys: KeyAdministration,
    private readonly dataSource: DataSource,
  ) {}

  add(name: string, afterwards = () => undefined) {
    return this.dataSource.transaction(async () => {
      const { key } = await this.keys.issue(name, PRO);
      afterwards();
      return key;
    });
  }
}

@Module({ imports: [AdministrationModule], providers: [SignUp] })
class SignUpModule {}

describe('a service that issues API keys', () => {
  const database = useDatabase();

  it('does so in its transaction, with a record in the audit trail', async () => {
    const { app, url } = await startTestingApp({ database, features: [SignUpModule] });
    const signUp = app.get(SignUp);
    const fail = () => {
      throw new Error('no');
    };
    await expect(signUp.add('Ann', fail)).rejects.toThrow('no');
    const actions = `SELECT action, details ->> 'owner' AS owner FROM operator_actions WHERE action LIKE 'keys%'`;
    expect(await database.query(actions)).toEqual([]);
    const headers = { Authorization: `Bearer ${await signUp.add('Ben')}` };
    expect((await fetch(`${url}/v1/none`, { headers })).status).toBe(404);
    expect(await database.query(actions)).toEqual([{ action: 'keys issue', owner: 'Ben' }]);
  });

  @Module({ imports: [PlatformModule.forRoot({ product: PRODUCT, plans: PLANS }), SignUpModule] })
  class Root {}

  it('also in a testing module', async () => {
    process.env['DATABASE_URL'] = database.url;
    const module = await Test.createTestingModule({ imports: [Root] }).compile();
    delete process.env['DATABASE_URL'];
    expect(await module.get(SignUp).add('Cleo')).toMatch(/^\w+$/);
    await module.close();
  });

  it('not in an application with another HTTP adapter, whose error says what to use', async () => {
    process.env['DATABASE_URL'] = database.url;
    const module = await Test.createTestingModule({ imports: [Root] }).compile();
    delete process.env['DATABASE_URL'];
    const app = module.createNestApplication({ logger: false });
    await expect(app.init()).rejects.toThrow('In tests, use startTestingApp().');
    await app.close();
  });
});
