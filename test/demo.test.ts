import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cli } from './cli/command.js';
import { ApiClient } from './harness/client.js';
import { createDatabase } from './harness/database.js';
import { type BuiltService, startBuiltService } from './harness/service.js';

const CURL =
  /^ *curl -H 'Authorization: Bearer (aas_\w{36})' (http:\/\/127\.0\.0\.1:\d+)\/v1\/pets$/m;

let dataDir: string;
let service: BuiltService | undefined;

beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'demo-'));
  // The server's user, when there is one, has to pass.
  chmodSync(dataDir, 0o755);
});

afterEach(async () => {
  await service?.stop();
  service = undefined;
});

afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

/** Starts the service. Returns its address, and what it has said once it listens. */
async function start(
  env: Record<string, string> = { DATA_DIR: dataDir },
): Promise<{ url: string; output: string }> {
  service = await startBuiltService(env);
  for (let tries = 0; tries < 200 && !service.output().includes('/docs\n'); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return { url: service.url, output: service.output() };
}

const keyFile = (): string => join(dataDir, 'demo-key');
const cli = (): Cli => new Cli({ DATA_DIR: dataDir });

// In this order: each test goes on with what the one before has left.
describe('the embedded database, from its first start on', () => {
  test('has animals and a demo owner whose working key is printed and kept for the owner of the file alone', async () => {
    const { output, url } = await start();
    expect(output).toContain(`${url}/docs`);
    const [, key = '', address] = CURL.exec(output) ?? [];
    expect(address).toBe(url);
    expect(readFileSync(keyFile(), 'utf8')).toBe(`${key}\n`);
    const { mode, uid } = statSync(keyFile());
    expect({ mode: mode & 0o777, uid }).toEqual({ mode: 0o600, uid: process.getuid?.() ?? uid });

    const { status, json } = await new ApiClient({ url }, key).get('/v1/pets');
    expect(status).toBe(200);
    expect(json.length).toBeGreaterThanOrEqual(5);
    expect(new Set(json.map((pet: { status: string }) => pet.status)).size).toBe(3);
    expect(await cli().json('keys', 'inspect', key)).toMatchObject({
      owner: 'demo',
      plan: 'business',
      status: 'active',
    });
  });

  test('prints the same key at a later start, and adds nothing', async () => {
    const before = readFileSync(keyFile(), 'utf8');
    const { output, url } = await start();
    const [, key = ''] = CURL.exec(output) ?? [];
    expect(`${key}\n`).toBe(before);
    const { json } = await new ApiClient({ url }, key).get('/v1/pets?limit=100');
    expect(json).toHaveLength(6);
    expect(await cli().json('owners', 'list')).toHaveLength(1);
  });

  test('tells how to get another key when the file is gone, or holds what is none', async () => {
    const kept = readFileSync(keyFile(), 'utf8');
    for (const content of [undefined, 'nonsense\n']) {
      rmSync(keyFile());
      if (content !== undefined) writeFileSync(keyFile(), content);
      const { output } = await start();
      expect(output).not.toMatch(CURL);
      expect(output).toContain('npm run cli -- keys issue --owner demo\n');
      await service?.stop();
      if (content === undefined) writeFileSync(keyFile(), '');
    }
    writeFileSync(keyFile(), kept);
  });

  test('tells how to get another key when the key is revoked, and the command works', async () => {
    const { id } = await cli().json('keys', 'inspect', readFileSync(keyFile(), 'utf8').trim());
    await cli().json('keys', 'revoke', String(id));
    const { output, url } = await start();
    expect(output).not.toMatch(CURL);
    const { key } = await cli().json('keys', 'issue', '--owner', 'demo');
    expect((await new ApiClient({ url }, key).get('/v1/pets')).status).toBe(200);
  });
});

describe('a start that was interrupted', () => {
  test('between writing the key and the commit is made good by the next one', async () => {
    const fresh = mkdtempSync(join(tmpdir(), 'demo-'));
    chmodSync(fresh, 0o755);
    try {
      writeFileSync(join(fresh, 'demo-key'), 'aas_keyOfTheStartThatNeverCommitted0000000\n', {
        mode: 0o644,
      });
      writeFileSync(join(fresh, 'demo-key.new'), 'half a k', { mode: 0o644 });
      const { output } = await start({ DATA_DIR: fresh });
      const [, key] = CURL.exec(output) ?? [];
      expect(readFileSync(join(fresh, 'demo-key'), 'utf8')).toBe(`${key}\n`);
      expect(statSync(join(fresh, 'demo-key')).mode & 0o777).toBe(0o600);
      await service?.stop();
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  });
});

describe('a database of its own (DATABASE_URL)', () => {
  test('gets no animals, no owner, and the service prints nothing but its log', async () => {
    const database = await createDatabase();
    try {
      const { output } = await start({ DATABASE_URL: database.url });
      expect(output).toMatch(/^(\{.*\}\n)+$/);
      expect(
        await database.query(
          'SELECT (SELECT count(*)::int FROM pets) + (SELECT count(*)::int FROM owners) AS rows',
        ),
      ).toEqual([{ rows: 0 }]);
      await service?.stop();
    } finally {
      await database.close();
    }
  });
});
