import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transformSync } from '@swc/core';
import { useStore } from '../../harness/http/store.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';
import { createPets } from '../../harness/database/animals.js';
import { HANG_LIMIT_MS } from '../../harness/run/until.js';
import { PACKAGES } from '../../harness/run/packages.js';

// The snippets of docs/clients.md, word for word, and the client of examples/client.

const ROOT = join(__dirname, '../../..');
const PAGE = readProjectFile('docs/clients.md');
const run = promisify(execFile);

/** Returns the block of the page that contains a text. */
function block(language: string, text: string): string {
  const blocks = [...PAGE.matchAll(/^```(\w+)\n([^]*?)^```$/gm)];
  const found = blocks.find(([, is, code]) => is === language && code?.includes(text));
  if (!found?.[2]) throw new Error(`docs/clients.md has no ${language} block with: ${text}`);
  return found[2];
}

/** Node.js 20 runs no TypeScript. */
const javaScriptOf = (code: string): string =>
  transformSync(code, {
    configFile: false,
    swcrc: false,
    jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
    module: { type: 'es6' },
  }).code.replaceAll('./store.ts', './store.js');

let folder = '';
const write = (name: string, code: string): void => writeFileSync(join(folder, name), code);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pets-snippets-'));
  write('package.json', '{ "type": "module" }');
  symlinkSync(PACKAGES, join(folder, 'node_modules'));
  write('store.js', javaScriptOf(block('ts', '// store.ts')));
  write('store.py', block('python', '# store.py'));
  write('list.js', javaScriptOf(block('ts', 'console.log(count)')));
  write('int64.js', javaScriptOf(block('ts', 'lossless-json')));
  write('error.js', javaScriptOf(block('ts', 'instanceof StoreError')));
  write('list.py', block('python', 'print(count)'));
  write('once.js', javaScriptOf(block('ts', '// Store the record here.')));
  write('once.py', block('python', '# Store the record here.'));
  write('refresh.py', block('python', '# refresh.py'));
  write(
    'refreshed.py',
    `import json, os
from refresh import refresh
print(json.dumps(list(refresh(dict(json.loads(os.environ["FORMER"]))).items())))
`,
  );
  write('error.py', block('python', 'except StoreError'));
  write('copy.js', javaScriptOf(block('ts', '// copy.ts')));
  write(
    'refreshed.js',
    `import { refresh } from './copy.js';
     const pages = await refresh(new Map(JSON.parse(process.env.FORMER)));
     console.log(JSON.stringify([...pages]));`,
  );
  write('page.sh', block('sh', '--retry-connrefused'));
  write('pages.sh', block('sh', `query='limit=100'`));
  // How a program calls the function of each language. Each prints the status of the last response.
  write(
    'call.js',
    `import { send } from './store.js';
     const { status } = await send('pets').catch((error) => error);
     console.log(status);`,
  );
  write(
    'call.mjs',
    `import { createClient } from '${join(ROOT, 'examples/client/client.mjs')}';
     const { response } = await createClient(process.env.STORE_URL, 'key').GET('/pets');
     console.log(response.status);`,
  );
  write(
    'call.py',
    `from store import StoreError, send
try:
    print(send("pets")[0])
except StoreError as error:
    print(error.status)
`,
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Runs a program in the folder of the snippets. Returns its standard output, also if it fails.
 *
 * @throws Error if it does not end within 25 seconds
 */
async function output(program: string, env: Record<string, string>): Promise<string> {
  const [name = '', ...args] = program.split(' ');
  const command = name === 'node' ? process.execPath : name;
  const options = {
    cwd: folder,
    env: { ...process.env, API_KEY: 'key', ...env },
    timeout: HANG_LIMIT_MS,
  };
  const { stdout } = await run(command, args, options).catch((error: unknown) => {
    const failed = error as { killed: boolean; stdout: string };
    if (failed.killed) throw new Error(`${program} does not end.`);
    return failed;
  });
  return stdout.trim();
}

/** Returns the ids of the animals of a printed copy, in its order. */
function idsOf(copy: string): string[] {
  const pages = JSON.parse(copy) as [query: string, page: { pets: { id: number }[] }][];
  return pages.flatMap(([, { pets }]) => pets.map(({ id }) => String(id)));
}

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) console.warn('The snippet in Python is not tested: no python3.');

describe.each([
  ['send of store.ts', 'node call.js', true],
  ['send of store.py', 'python3 call.py', hasPython],
  ['the client of examples/client', 'node call.mjs', true],
  ['curl', 'bash page.sh', true],
  ['curl, all pages', 'bash pages.sh', true],
])('%s', (_name, program, isInstalled) => {
  const testIf = isInstalled ? test : test.skip;
  let server: Server;
  let times: number[];
  let retryAfter = '';

  beforeAll(async () => {
    server = createServer((_request, response) => {
      times.push(performance.now());
      const isLast = times.length > 1;
      response.writeHead(isLast ? 200 : 429, {
        'Content-Type': 'application/json',
        ...(!isLast && { 'Retry-After': retryAfter }),
      });
      response.end(isLast ? '[]' : '{"code":"rate_limit_exceeded","message":"","status":429}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(() => {
    times = [];
  });
  afterAll(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  });

  const call = () => {
    const { port } = server.address() as AddressInfo;
    return output(program, { STORE_URL: `http://127.0.0.1:${port}` });
  };

  testIf('waits for a short Retry-After', async () => {
    retryAfter = '1';
    const printed = await call();
    expect(times).toHaveLength(2);
    // A timer can fire a little early.
    expect(times[1]! - times[0]!).toBeGreaterThan(990);
    if (!program.startsWith('bash')) expect(printed).toBe('200');
  });

  testIf('gives up when Retry-After is more than ten minutes', async () => {
    retryAfter = '601';
    const printed = await call();
    expect(times).toHaveLength(1);
    if (!program.startsWith('bash')) expect(printed).toBe('429');
  });
});

describe('with a store, the snippet', () => {
  const store = useStore({ app: true });
  const result = (program: string, env: Record<string, string> = {}) =>
    output(program, { STORE_URL: store.service.url, API_KEY: store.owner.key, ...env });

  const inEachLanguage = hasPython ? ['node', 'python3'] : ['node'];
  const fileOf = (program: string, name: string) =>
    `${program} ${name}.${program === 'node' ? 'js' : 'py'}`;

  test.each(inEachLanguage)('that lists to the end counts all animals: %s', async (program) => {
    await store.database.query('DELETE FROM pets');
    await createPets(store.database, 230);
    expect(await result(fileOf(program, 'list'))).toBe('230');
  });

  test.each(inEachLanguage)('that adds an animal once prints it: %s', async (program) => {
    // A property of an animal can be unique.
    await store.database.query('DELETE FROM pets');
    expect(await result(fileOf(program, 'once'))).toMatch(/Frank/);
    const [stored] = await store.database.query(
      `SELECT count(*)::int AS keys FROM idempotency_keys`,
    );
    expect(stored?.['keys']).toBe(program === 'node' ? 1 : 2);
  });

  test('for an int64 keeps every digit', async () => {
    expect(await result('node int64.js')).toBe('9223372036854775807');
  });

  test.each(inEachLanguage)('for errors shows the status and the code: %s', async (program) => {
    expect(await result(fileOf(program, 'error'))).toBe('400 invalid_request');
  });

  test.each(inEachLanguage)(
    'that refreshes a copy has each animal once after removals, also of the last of a page: %s',
    async (program) => {
      await store.database.query('DELETE FROM pets');
      const ids = await createPets(store.database, 330);
      const refreshed = async (former: string) =>
        result(fileOf(program, 'refreshed'), { FORMER: former });
      const first = await refreshed('[]');
      expect(idsOf(first)).toEqual(ids);
      expect(idsOf(await refreshed(first))).toEqual(ids);

      // The cursor of the second page was made after the animal 99, and that of the third after 199.
      const removed = [ids[99], ids[150], ids[199], ids[329]];
      await store.database.query('DELETE FROM pets WHERE id = ANY($1)', [removed]);
      const rest = ids.filter((id) => !removed.includes(id));
      expect(idsOf(await refreshed(first))).toEqual(rest);
    },
  );
});
