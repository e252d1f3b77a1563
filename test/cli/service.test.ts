import { createDatabase, type TestDatabase } from '../harness/database/database.js';
import { ApiClient } from '../harness/http/client.js';
import { startService, type TestService } from '../harness/service/service.js';
import { Cli } from '../harness/processes/command.js';

// Changes take effect on every replica within five seconds.
const HOLDS_WITHIN_MS = 5_000;

describe('changes by operators', () => {
  let database: TestDatabase;
  let service: TestService;
  let cli: Cli;

  beforeAll(async () => {
    database = await createDatabase();
    // The database uses the real clock, and the service validates keys by its own.
    service = await startService({
      database,
      nowMs: Date.now(),
      env: { BAN_AFTER_REJECTIONS: '1' },
    });
    cli = new Cli({ DATABASE_URL: database.url });
  });

  afterAll(async () => {
    await service.close();
    await database.close();
  });

  async function statusOf(key: string): Promise<{ status: number; code?: string; limit: string }> {
    const { status, json, headers } = await new ApiClient(service, key).get('/v1/pets');
    return { status, code: json.code, limit: String(headers['x-ratelimit-limit']) };
  }

  async function expectSoon(key: string, expected: Record<string, unknown>): Promise<void> {
    for (const end = Date.now() + HOLDS_WITHIN_MS; Date.now() < end;) {
      const response = await statusOf(key);
      if (
        Object.entries(expected).every(
          ([name, value]) => response[name as keyof typeof response] === value,
        )
      )
        return;
    }
    expect(await statusOf(key)).toMatchObject(expected);
  }

  test('a key is valid from its creation until its revocation', async () => {
    const { id, key } = await cli.json('keys', 'issue', '--owner', 'revoked', '--plan', 'business');
    expect(await statusOf(key)).toMatchObject({ status: 200 });
    await cli.run('keys', 'revoke', String(id), '--yes');
    await expectSoon(key, { status: 401, code: 'invalid_api_key' });
  });

  test('a plan change applies to a key in use', async () => {
    const { key } = await cli.json('keys', 'issue', '--owner', 'planned', '--plan', 'business');
    expect(await statusOf(key)).toMatchObject({ limit: '1000' });
    await cli.json('owners', 'set-plan', 'planned', '--plan', 'pro');
    await expectSoon(key, { status: 200, limit: '300' });
  });

  test('a rotated key inherits the ban of the old key, and an unban lifts both', async () => {
    const plan = ['--plan', 'enterprise', '--per-minute', '2', '--per-day', '1000'];
    const old = await cli.json('keys', 'issue', '--owner', 'banned', ...plan);
    await statusOf(old.key);
    await statusOf(old.key);
    expect(await statusOf(old.key)).toMatchObject({ status: 429, code: 'api_key_banned' });
    const rotated = await cli.json('keys', 'rotate', String(old.id));
    expect(await statusOf(rotated.key)).toMatchObject({ status: 429, code: 'api_key_banned' });
    // The minute has ended. The ban has not.
    await service.advance(61_000);
    expect(await statusOf(rotated.key)).toMatchObject({ status: 429, code: 'api_key_banned' });
    await cli.json('keys', 'unban', String(old.id));
    await expectSoon(rotated.key, { status: 200 });
    await expectSoon(old.key, { status: 200 });
  });
});
