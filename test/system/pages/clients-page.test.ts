import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { isGeneric } from '../../../src/platform/errors/catalogue.js';
import { createOwner, createPets } from '../../harness/database/factories.js';
import { ALL_ERRORS } from '../../harness/http/error-response.js';
import { startService, type TestService } from '../../harness/service/service.js';

const ROOT = join(__dirname, '../../..');
const PAGE = readFileSync(join(ROOT, 'docs/clients.md'), 'utf8');
const PROGRAMS = { sh: 'bash', ts: process.execPath, python: 'python3' } as const;
const EXTENSIONS = { sh: 'sh', ts: 'ts', python: 'py' } as const;

type Language = keyof typeof PROGRAMS;
interface Snippet {
  section: string;
  language: Language;
  /** The name that other snippets import. */
  file: string;
  code: string;
}

/** All code blocks with a language. */
const snippets: Snippet[] = PAGE.split(/^## /m).flatMap((text, index) => {
  const [section = ''] = text.split('\n');
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, code]) => ({
    section,
    language: language as Language,
    file:
      /^(?:\/\/|#) (store\.\w+)\n/.exec(code!)?.[1] ??
      `snippet-${index}.${EXTENSIONS[language as Language]}`,
    code: code!,
  }));
});

const FRANK = /^(\{"id":\d+,"name":"Frank",.*\})\n\1\n$/;
/** What the snippets of a section print: in the shell, and in TypeScript and Python. */
const OUTPUTS: Record<string, { sh: RegExp; program: RegExp }> = {
  Authenticate: { sh: /^\[\{"id":1,.*\}\]$/, program: /^200 \[\{"id":1,.*\}\]\n$/ },
  Retry: { sh: /^\[\{"id":1,.*\}\]$/, program: /^$/ },
  'List to the end': { sh: /^(\[\{.*\}\]\n){3}$/, program: /^250\n$/ },
  'Add an animal once': { sh: FRANK, program: /^true\ntrue\n$/ },
  'Keep every digit of an int64': {
    sh: /"categoryId":9223372036854775807,/,
    program: /^9223372036854775807\n$/,
  },
  'Stay within the limits': { sh: /^x-ratelimit-remaining: \d+/im, program: /^1000000\n$/ },
  'Handle errors': {
    sh: /^\{"code":"invalid_request",.*"status":400\}$/,
    program: /^400 invalid_request\n$/,
  },
};

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) console.warn('To test the Python snippets of docs/clients.md, install python3.');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'clients-page-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const { file, language, code } of snippets) {
    writeFileSync(join(folder, file), code);
    if (language !== 'ts') continue;
    const { outputText } = ts.transpileModule(code, {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
    });
    writeFileSync(join(folder, file.replace(/ts$/, 'js')), outputText);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

test('the TypeScript snippets have no type errors', () => {
  const files = snippets
    .filter(({ language }) => language === 'ts')
    .map(({ file }) => join(folder, file));
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  });
  const problems = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => ({
    file: file?.fileName,
    problem: ts.flattenDiagnosticMessageText(messageText, '\n'),
  }));
  expect(problems).toEqual([]);
});

describe('against a running service', () => {
  let service: TestService;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    service = await startService();
    const { key } = await createOwner(service.database);
    await createPets(service.database, 250);
    env = { PATH: process.env['PATH'], STORE_URL: service.url, API_KEY: key };
  });
  afterAll(() => service.close());

  const runnable = hasPython ? snippets : snippets.filter(({ language }) => language !== 'python');
  // The list is complete before another snippet adds an animal.
  const inOrder = runnable.toSorted((a, b) => Number(addsAnimals(a)) - Number(addsAnimals(b)));

  test.each(inOrder.map((snippet) => [snippet.section, snippet.language, snippet] as const))(
    '%s: the snippet in %s works',
    async (section, language, { file }) => {
      const script = language === 'ts' ? file.replace(/ts$/, 'js') : file;
      const { stdout } = await promisify(execFile)(PROGRAMS[language], [script], {
        cwd: folder,
        env,
      });
      expect(stdout).toMatch(OUTPUTS[section]![language === 'sh' ? 'sh' : 'program']);
    },
  );
});

/** Programs that send a request once and print the status of the error. */
const ONCE: Record<string, string> = {
  'retry.js': `import { send, StoreError } from './store.js';
await send('pets', {}, 1).catch((error) => console.log(error instanceof StoreError && error.status));`,
  'retry.py': `from store import StoreError, send
try:
    send('pets', tries=1)
except StoreError as error:
    print(error.status)`,
};

describe.each([
  [
    'TypeScript',
    process.execPath,
    'retry.js',
    "import { send } from './store.js';\nawait send('pets');",
  ],
  ...(hasPython ? [['Python', 'python3', 'retry.py', "from store import send\nsend('pets')"]] : []),
])('the retries in %s', (_language, program, file, code) => {
  test('wait for Retry-After, and continue after a lost connection and a 503', async () => {
    const arrivedAtMs: number[] = [];
    const server = createServer((request, response) => {
      arrivedAtMs.push(Date.now());
      if (arrivedAtMs.length === 1) response.writeHead(429, { 'Retry-After': '2' }).end('{}');
      else if (arrivedAtMs.length === 2) request.socket.destroy();
      else response.writeHead(arrivedAtMs.length === 3 ? 503 : 200).end('[]');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      writeFileSync(join(folder, file), code);
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const env = { PATH: process.env['PATH'], STORE_URL: url, API_KEY: 'key' };
      await promisify(execFile)(program, [file], { cwd: folder, env });
    } finally {
      server.close();
    }
    const waitsMs = arrivedAtMs.slice(1).map((atMs, index) => atMs - arrivedAtMs[index]!);
    expect(waitsMs).toHaveLength(3);
    expect(waitsMs[0]).toBeGreaterThanOrEqual(2_000);
    // Exponential: the third backoff is at least as long as the longest second one.
    expect(waitsMs[2]).toBeGreaterThanOrEqual(2_000);
  });

  test.each([
    [502, 'text/html', '<h1>Bad Gateway</h1>'],
    [304, 'application/json', ''],
  ])('throw an error with the status of a %i response without an Error body', async (...sent) => {
    const [status, type, body] = sent;
    const server = createServer((_request, response) => {
      response.writeHead(status, { 'Content-Type': type }).end(body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      writeFileSync(join(folder, `once-${file}`), ONCE[file]!);
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const env = { PATH: process.env['PATH'], STORE_URL: url, API_KEY: 'key' };
      const options = { cwd: folder, env };
      const { stdout } = await promisify(execFile)(program, [`once-${file}`], options);
      expect(stdout).toBe(`${status}\n`);
    } finally {
      server.close();
    }
  });
});

function addsAnimals({ section }: Snippet): boolean {
  return section === 'Add an animal once' || section === 'Keep every digit of an int64';
}

test('the table of errors has every code of the service, with its status', () => {
  const rows = [...PAGE.matchAll(/^\| (\d{3}) +\| `(\w+)` +\| \S/gm)];
  const codes = Object.entries(ALL_ERRORS).filter(([code]) => !isGeneric(code));
  expect(rows.map(([, status, code]) => `${status} ${code}`).sort()).toEqual(
    codes.map(([code, { status }]) => `${status} ${code}`).sort(),
  );
});
