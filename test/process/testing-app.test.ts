import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { useDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { startTestingApp } from '../harness/service/testing-app.js';

@Injectable()
class Letters {
  send(): string {
    return `sent to ${process.env['LETTERS_ADDRESS']}`;
  }
}

@Controller('letters')
class LettersController {
  constructor(private readonly letters: Letters) {}

  @Get()
  send() {
    return { result: this.letters.send() };
  }
}

@Module({ controllers: [LettersController], providers: [Letters] })
class LettersModule {}

describe('a test of a feature in the process of the service', () => {
  const database = useDatabase();
  const ask = async (url: string) => {
    const headers = { Authorization: `Bearer ${(await createOwner(database)).key}` };
    return fetch(`${url}/v1/letters`, { headers });
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

  it('replaces a provider', async () => {
    const { url } = await startTestingApp({
      database,
      features: [LettersModule],
      override: (module) => module.overrideProvider(Letters).useValue({ send: () => 'replaced' }),
    });

    expect(await (await ask(url)).json()).toEqual({ result: 'replaced' });
  });
});
