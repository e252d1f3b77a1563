import pg from 'pg';
import { send } from '../../harness/http/client.js';
import { useDatabase } from '../../harness/database/database.js';
import { startBuiltService } from '../../harness/service/service.js';

/** The level of LOG_LEVEL=debug, as the log has it. */
const DEBUG = 20;
const INFO = 30;

const database = useDatabase();

test('when the output is not a terminal, every line is JSON, the first one shows what the service uses, and none a password', async () => {
  const service = await startBuiltService({
    DATABASE_URL: database.url,
    DATABASE_PASSWORD: 'secret-1',
    REDIS_URL: 'redis://:secret-2@127.0.0.1:1',
    TRUST_PROXY: '10.0.0.0/8',
    LOG_LEVEL: 'debug',
  });
  await send(service, '/v1/items');
  await service.stop();
  const lines = service.logs();
  expect(lines).toHaveLength(service.output().trim().split('\n').length);
  const messages = lines.filter(({ level }) => level === INFO).map(({ msg }) => msg);
  expect(messages).toEqual(['listening', 'request', 'stopping', 'stopped']);
  for (const line of lines) expect(Date.parse(String(line['time']))).toBeGreaterThan(0);
  const { host, port, database: name } = new pg.Client({ connectionString: database.url });
  expect(lines.find(({ msg }) => msg === 'listening')).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    node: process.version,
    database: `${name} on ${host}:${port}`,
    redis: '127.0.0.1:1',
    trustProxy: ['10.0.0.0/8'],
  });
  expect(service.output()).not.toContain('secret');
  expect(lines.some(({ level }) => level === DEBUG)).toBe(true);
  // A database of DATABASE_URL gets no demo owner.
  expect(await database.query('SELECT FROM owners')).toEqual([]);
});
