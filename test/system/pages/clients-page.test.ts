import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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
const PROGRAMS = { sh: 'bash', ts: process.execPath, python: 'python3', java: 'java' } as const;
const EXTENSIONS = { sh: 'sh', ts: 'ts', python: 'py', java: 'java' } as const;

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
      /^(?:\/\/|#) (store\.\w+)\n/i.exec(code!)?.[1] ??
      `snippet-${index}.${EXTENSIONS[language as Language]}`,
    code: code!,
  }));
});

const FRANK = /^(\{"id":\d+,"name":"Frank",.*\})\n\1\n$/;
/** What the snippets of a section print: in the shell, and in the other languages. */
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

/** Programs that send a request, or send it once and print the status of the error. */
const PROGRAMS_OF_TESTS: Record<string, string> = {
  'retry.js': "import { send } from './store.js';\nawait send('pets');",
  'retry.py': "from store import send\nsend('pets')",
  // A POST, because Java itself sends a GET again when the connection is lost.
  'retry.java': `class Retry {
  public static void main(String[] args) throws Exception {
    var body = java.net.http.HttpRequest.BodyPublishers.ofString("{}");
    Store.send(Store.request("pets").POST(body).build());
  }
}`,
  'once.js': `import { send, StoreError } from './store.js';
await send('pets', {}, 1).catch((error) => console.log(error instanceof StoreError && error.status));`,
  'once.py': `from store import StoreError, send
try:
    send('pets', tries=1)
except StoreError as error:
    print(error.status)`,
  'once.java': `class Once {
  public static void main(String[] args) throws Exception {
    try {
      Store.send(Store.request("pets").build(), 1);
    } catch (Store.StoreException error) {
      System.out.println(error.status);
    }
  }
}`,
};

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) console.warn('To test the Python snippets of docs/clients.md, install python3.');

const CLASS_PATH = ['annotations', 'core', 'databind']
  .map((name) => `/usr/share/java/jackson-${name}.jar`)
  .concat('classes');
const hasJava =
  spawnSync('javac', ['-version']).status === 0 && CLASS_PATH.slice(0, -1).every(existsSync);
if (!hasJava) {
  const packages = 'openjdk-17-jdk-headless libjackson2-databind-java';
  console.warn(`To test the Java snippets of docs/clients.md, install ${packages}.`);
}
const IS_PRESENT = { sh: true, ts: true, python: hasPython, java: hasJava } as const;

/** Runs a file of the folder. The Java class has the name that its source declares. */
function start(language: Language, file: string, env: NodeJS.ProcessEnv) {
  const [name] = /(?<=^class )\w+/m.exec(readFileSync(join(folder, file), 'utf8')) ?? [];
  const args = language === 'java' ? ['-cp', CLASS_PATH.join(':'), name ?? ''] : [file];
  return promisify(execFile)(PROGRAMS[language], args, { cwd: folder, env });
}

function compileJava(): void {
  const sources = readdirSync(folder).filter((file) => file.endsWith('.java'));
  const args = ['-Xlint:all,-serial', '-Werror', '-d', 'classes', '-cp', CLASS_PATH.join(':')];
  execFileSync('javac', [...args, ...sources], { cwd: folder });
}

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
  for (const [file, code] of Object.entries(PROGRAMS_OF_TESTS)) {
    writeFileSync(join(folder, file), code);
  }
  mkdirSync(join(folder, 'classes'));
  if (hasJava) compileJava();
}, 60_000);
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

  const runnable = snippets.filter(
    ({ language, file }) => IS_PRESENT[language] && file !== 'Store.java',
  );
  // The list is complete before another snippet adds an animal.
  const inOrder = runnable.toSorted((a, b) => Number(addsAnimals(a)) - Number(addsAnimals(b)));

  test.each(inOrder.map((snippet) => [snippet.section, snippet.language, snippet] as const))(
    '%s: the snippet in %s works',
    async (section, language, { file }) => {
      const { stdout } = await start(language, file.replace(/ts$/, 'js'), env);
      expect(stdout).toMatch(OUTPUTS[section]![language === 'sh' ? 'sh' : 'program']);
    },
  );
});

describe.each(
  (['ts', 'python', 'java'] as const)
    .filter((language) => IS_PRESENT[language])
    .map((language) => [language, EXTENSIONS[language].replace('ts', 'js')] as const),
)('the retries in %s', (language, extension) => {
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
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const env = { PATH: process.env['PATH'], STORE_URL: url, API_KEY: 'key' };
      await start(language, `retry.${extension}`, env);
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
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const env = { PATH: process.env['PATH'], STORE_URL: url, API_KEY: 'key' };
      const { stdout } = await start(language, `once.${extension}`, env);
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
