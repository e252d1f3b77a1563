import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createDatabase } from '../harness/database/database.js';
import { inheritedEnvironment } from '../harness/service/service.js';

test('a closed application leaves no timer, connection or other handle that keeps the process running', async () => {
  const database = await createDatabase();
  const script = join(__dirname, '../harness/service/closing-process.mjs');
  const child = spawn(process.execPath, [script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...inheritedEnvironment(), DATABASE_URL: database.url },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(output).toBe('0\n');
  await database.close();
});
