import { ApiClient } from '../../../harness/http/client.js';
import { expectError } from '../../../harness/http/error-response.js';
import { useStore } from '../../../harness/http/store.js';
import { sequentially } from '../../../harness/rate-limit/limits.js';
import { Cli } from '../../../harness/processes/command.js';

// The database uses the real clock, and the service validates keys by its own.
const store = useStore({ nowMs: Date.now(), env: { BAN_AFTER_REJECTIONS: '1' } });
const cli = Cli.on(store.database);
const asks = (key: string) => () => new ApiClient(store.service, key).get('/v1/items');

test('a key is valid from its creation until its revocation', async () => {
  const { id, key } = await cli.json('keys', 'issue', '--owner', 'revoked', '--plan', 'business');
  expect((await asks(key)()).status).toBe(200);
  await cli.run('keys', 'revoke', String(id), '--yes');
  await store.service.advance(5_000);
  expectError(await asks(key)(), 401, 'invalid_api_key');
});

test.each(['old', 'new'])(
  'the successor of a banned key is banned too, and an unban of the %s key lifts both bans',
  async (which) => {
    const plan = ['--plan', 'enterprise', '--per-minute', '2', '--per-day', '1000'];
    const old = await cli.json('keys', 'issue', '--owner', `banned-${which}`, ...plan);
    const isBanned = async (key: string): Promise<boolean> =>
      (await asks(key)()).json.code === 'api_key_banned';
    await sequentially(2, asks(old.key));
    expect(await isBanned(old.key)).toBe(true);
    const rotated = await cli.json('keys', 'rotate', String(old.id));
    expect(await isBanned(rotated.key)).toBe(true);
    // The minute has ended. The ban has not.
    await store.service.advance(61_000);
    expect(await isBanned(rotated.key)).toBe(true);
    await cli.json('keys', 'unban', String(which === 'old' ? old.id : rotated.id));
    await store.service.advance(5_000);
    for (const { key } of [rotated, old]) expect((await asks(key)()).status).toBe(200);
  },
);
