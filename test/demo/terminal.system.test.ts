import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PRODUCT } from '../../src/product.js';
import { makeCluster, makeFolder } from '../harness/processes/embedded-user.js';
import { NODE } from '../harness/processes/node.js';
import { send } from '../harness/http/client.js';
import { inheritedEnvironment, TEAM_MAIN } from '../harness/service/service.js';
import { newAnimal } from '../harness/database/animals.js';

const hasTerminal = spawnSync('script', ['--version']).status === 0;
if (!hasTerminal)
  console.warn('To test the log on a terminal, install script of util-linux (bsdutils).');

(hasTerminal ? test : test.skip)(
  'on a terminal, the start ends with the curl command, each request is one line, and ^C stops the service',
  async () => {
    const dataDir = makeFolder();
    await makeCluster(dataDir);
    const run = `exec ${[...NODE, TEAM_MAIN].map((word) => `'${word}'`).join(' ')}`;
    const child = spawn('script', ['-qec', run, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        ...inheritedEnvironment(),
        PORT: '0',
        METRICS_PORT: '',
        DATA_DIR: dataDir,
        TERM: 'xterm',
      },
    });

    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      // Without the colours and the echo of ^C.
      lines.push(line.replaceAll(/\p{Cc}\[\d+m/gu, '').replace(/^\^C/, ''));
      // On ^C, the terminal discards the output that has not been read.
      if (line.includes('replayed')) child.stdin.write('\x03');
      const [, key = '', url] = /curl .*Bearer (\w+)" (.*)\/v1\/pets/.exec(line) ?? [];
      if (url === undefined) continue;
      await send({ url }, '/health/live');
      await send({ url }, '/v1/pets?limit=1', { headers: { Authorization: `Bearer ${key}` } });
      await send({ url }, '/v1/pets/1%0AINFO%1B%5B31m');
      const body = JSON.stringify(newAnimal());
      const create = { 'Idempotency-Key': 'a', 'Content-Type': 'application/json' };
      for (let count = 0; count < 2; count++) {
        await send({ url }, '/v1/pets', {
          method: 'POST',
          headers: { Authorization: `Bearer ${key}`, ...create },
          body,
        });
      }
    }
    const time = /^\[\d\d:\d\d:\d\d\.\d{3}\] /;
    expect(lines.filter((line) => line !== '').map((line) => line.replace(time, '… '))).toEqual([
      expect.stringMatching(/^… INFO: schema migrated /),
      expect.stringMatching(/^… INFO: listening .*http:\/\/127\.0\.0\.1:\d+/),
      expect.stringContaining(`${PRODUCT.title}: `),
      expect.stringMatching(/^Documentation: /),
      'Try it:',
      expect.stringMatching(/^ {2}curl -H /),
      expect.stringMatching(/^… INFO: GET \/v1\/pets 200 \d+\.\d ms$/),
      expect.stringMatching(
        /^… INFO: GET \/v1\/pets\/1%0AINFO%1B%5B31m 401 missing_api_key \d+\.\d ms$/,
      ),
      expect.stringMatching(/^… INFO: POST \/v1\/pets 201 \d+\.\d ms$/),
      expect.stringMatching(/^… INFO: POST \/v1\/pets 201 replayed \d+\.\d ms$/),
      expect.stringMatching(/^… INFO: stopping/),
      '… INFO: stopped',
    ]);
    expect(child.exitCode ?? ((await once(child, 'exit')) as [number])[0]).toBe(0);
  },
);
