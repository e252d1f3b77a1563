import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const EXAMPLE = join(__dirname, '../../..', 'examples', 'import-shelter');
const KEY = 'aas_averysecretkeyofashelter12345678';

interface Exit {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface StubResponse {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Delay before it is sent. */
  delayMs?: number;
}

interface Received {
  name: string;
  body: string;
  idempotencyKey: string;
  atMs: number;
}

/** A stub of the store. It responds with 201 unless a test sets another response. */
class StubStore {
  received: Received[] = [];
  /** Animals by their Idempotency-Key. */
  animals = new Map<string, { id: string; json: string }>();
  firstId = 1n;
  /** Returns the response; undefined: the default one, 'hang up': none. */
  respond: (received: Received, authorization: string) => StubResponse | 'hang up' | undefined =
    () => undefined;
  /** The pages of the list; by default, one page with all animals. */
  pages: () => string[] = () => [`[${[...this.animals.values()].map(({ json }) => json).join()}]`];
  listAuthorizations: string[] = [];
  private readonly server: Server = createServer((request, response) => {
    // A killed client may leave an incomplete request.
    this.handle(request, response).catch(() => request.socket.destroy());
  });

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  names(): string[] {
    return this.received.map(({ name }) => name);
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.method === 'GET') return this.list(request, response);
    const received: Received = {
      name: (JSON.parse(body) as { name: string }).name,
      body,
      idempotencyKey: String(request.headers['idempotency-key']),
      atMs: Date.now(),
    };
    this.received.push(received);
    const stub = this.respond(received, String(request.headers.authorization)) ?? { status: 201 };
    if (stub === 'hang up') {
      request.socket.destroy();
      return;
    }
    if (stub.delayMs) await new Promise((resolve) => setTimeout(resolve, stub.delayMs));
    const isReplay = this.animals.has(received.idempotencyKey);
    response.writeHead(stub.status, {
      'content-type': 'application/json',
      ...(isReplay ? { 'idempotent-replayed': 'true' } : {}),
      ...stub.headers,
    });
    response.end(stub.status === 201 ? this.add(received) : JSON.stringify(stub.body));
  }

  private add({ idempotencyKey, body }: Received): string {
    const known = this.animals.get(idempotencyKey);
    if (known) return known.json;
    const id = String(this.firstId + BigInt(this.animals.size));
    const json = body.replace('{', `{"id":${id},`);
    this.animals.set(idempotencyKey, { id, json });
    return json;
  }

  private list(request: IncomingMessage, response: ServerResponse): void {
    this.listAuthorizations.push(String(request.headers.authorization));
    const pages = this.pages();
    const page = Number(new URL(String(request.url), this.url).searchParams.get('cursor') ?? 0);
    const link = `</v1/pets?limit=100&cursor=${page + 1}>; rel="next"`;
    response.writeHead(200, page + 1 < pages.length ? { link } : {});
    response.end(pages[page]);
  }
}

const rejection = (status: number, code: string, message = 'no'): StubResponse => ({
  status,
  body: { code, message, status },
});

let store: StubStore;
let folder: string;
let running: ChildProcess[];

/** The folder and the store of a test, or of all tests of a `describe`. */
function withFolderAndStore(before: typeof beforeEach, after: typeof afterEach): void {
  before(async () => {
    store = new StubStore();
    await store.listen();
    folder = mkdtempSync(join(tmpdir(), 'import-shelter-'));
    running = [];
  });
  after(async () => {
    for (const child of running) child.kill('SIGKILL');
    await store.close();
    rmSync(folder, { recursive: true });
  });
}

function start(script: string, args: string[], key: string | undefined = KEY) {
  const environment: NodeJS.ProcessEnv = { ...process.env, API_KEY: key };
  if (key === '') delete environment.API_KEY;
  const child = spawn(process.execPath, [join(EXAMPLE, script), ...args], {
    cwd: folder,
    env: environment,
  });
  running.push(child);
  const exit = new Promise<Exit>((resolve) => {
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { child, exit };
}

/** Writes the names as a file `animals.csv`. */
function writeAnimals(names: string[]): void {
  const rows = names.map((name) => `${name},Dog,Adoption`);
  writeFileSync(
    join(folder, 'animals.csv'),
    ['name,animal_type,outcome_type', ...rows, ''].join('\r\n'),
  );
}

const IMPORT_ARGS = ['animals.csv', '--preset', 'austin'];

function startImport(...more: string[]) {
  return start('import.mjs', [...IMPORT_ARGS, '--url', store.url, ...more]);
}

async function importAnimals(...more: string[]) {
  const { code, stdout, stderr } = await startImport('--json', ...more).exit;
  return { code, stderr, summary: JSON.parse(stdout || 'null') };
}

function compareAnimals(...more: string[]): Promise<Exit> {
  return start('compare.mjs', [...IMPORT_ARGS, '--url', store.url, ...more]).exit;
}

function journalLines(): { row?: number; outcome?: string; id?: string }[] {
  const lines = readFileSync(join(folder, 'animals.csv.import.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.slice(1).map((line) => JSON.parse(line));
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `Animal ${index + 1}`);
}

describe('the CSV reader', () => {
  type Records = [line: number, ...values: string[]][];
  const texts: [title: string, text: string | Buffer, expected: Records | string][] = [
    [
      'reads values between commas',
      'a,b\nc,d\n',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    [
      'accepts CRLF as a line end',
      'a,b\r\nc,d\r\n',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    [
      'accepts CR as a line end',
      'a,b\rc,d\r',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    [
      'accepts a missing last line end',
      'a,b\nc,d',
      [
        [1, 'a', 'b'],
        [2, 'c', 'd'],
      ],
    ],
    [
      'accepts an empty last value',
      'a,b\nc,',
      [
        [1, 'a', 'b'],
        [2, 'c', ''],
      ],
    ],
    ['takes off quotes', '"a","b"\n', [[1, 'a', 'b']]],
    ['makes one quote of two', '"say ""hi""",""""\n', [[1, 'say "hi"', '"']]],
    ['keeps a comma in quotes', '"a,b",c\n', [[1, 'a,b', 'c']]],
    [
      'keeps line ends in quotes and counts them',
      '"a\nb\r\nc\rd"\ne\n',
      [
        [1, 'a\nb\r\nc\rd'],
        [5, 'e'],
      ],
    ],
    ['distinguishes an empty quoted value from a quote', '"",a\n', [[1, '', 'a']]],
    ['ends at an empty quoted value', 'a,""', [[1, 'a', '']]],
    ['keeps white space around a value', ' a , b\n', [[1, ' a ', ' b']]],
    ['skips a byte order mark', '\ufeffa,b\n', [[1, 'a', 'b']]],
    ['skips a byte order mark before a quote', '\ufeff"a",b\n', [[1, 'a', 'b']]],
    ['keeps characters of more than one byte', 'Zoë,🐕,猫\n', [[1, 'Zoë', '🐕', '猫']]],
    [
      'parses an empty line as one empty value',
      'a\n\nb\n',
      [
        [1, 'a'],
        [2, ''],
        [3, 'b'],
      ],
    ],
    ['gives nothing for nothing', '', []],
    [
      'reports the line of a quote inside a value',
      'a\nb"c\n',
      'line 2: a quote inside a value that does not begin with one',
    ],
    [
      'reports the line of text after a quote',
      'a\n\n"b"c\n',
      'line 3: text after the quote that ends a value',
    ],
    [
      'reports the line where an unclosed quote begins',
      'a\nb,"c\nd\n',
      'line 2: a quoted value begins here and does not end',
    ],
    [
      'reports the line of a byte that is not UTF-8',
      Buffer.from('a\nb\nZo\xeb\n', 'latin1'),
      'line 3: not utf-8 text; set --encoding',
    ],
    [
      'reports the line of a truncated character',
      Buffer.from('a\nZo\xc3', 'latin1'),
      'line 2: not utf-8 text; set --encoding',
    ],
  ];
  const cases = texts.map(([, text]) => Buffer.from(text as string).toString('base64'));
  let results: unknown[];

  beforeAll(async () => {
    const program = `
      const { readRecords } = await import(process.argv[1]);
      const read = (bytes) => {
        try {
          return readRecords(bytes).map(({ line, values }) => [line(), ...values]);
        } catch (error) { return error.message; }
      };
      const results = JSON.parse(process.argv[2]).map((text) => read(Buffer.from(text, 'base64')));
      console.log(JSON.stringify(results));`;
    const reader = `file://${join(EXAMPLE, 'shelter-file.mjs')}`;
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      program,
      reader,
      JSON.stringify(cases),
    ]);
    let stdout = '';
    for await (const chunk of child.stdout) stdout += chunk;
    results = JSON.parse(stdout);
  });

  it.each(texts.map(([title], index) => [title, index] as const))('%s', (_title, index) => {
    expect(results[index]).toEqual(texts[index]![2]);
  });
});

describe('the shelter importer', () => {
  withFolderAndStore(beforeEach, afterEach);

  it('adds every row unchanged, and sends nothing in a second run', async () => {
    writeFileSync(
      join(folder, 'animals.csv'),
      '\ufeffid,name,animal_type,outcome_type\r\n1,"*Ann, ""the"" cat",Cat,\r\n\r\n2, Bo ,Dog,Missing\r\n3,"C\nD",Bird,Died\r\n',
    );
    const first = await importAnimals('--concurrency', '1');
    expect(first.code).toBe(0);
    expect(first.summary).toMatchObject({
      rows: 3,
      added: 3,
      rejected: 0,
      left: 0,
      rejections: [],
    });
    expect(store.received.map(({ body }) => JSON.parse(body))).toEqual([
      { name: '*Ann, "the" cat', categoryId: 2, status: 'available' },
      { name: ' Bo ', categoryId: 1, status: 'pending' },
      { name: 'C\nD', categoryId: 3, status: 'sold' },
    ]);
    const second = await importAnimals();
    expect(second).toMatchObject({ code: 0, summary: { added: 3, run: { sent: 0, requests: 0 } } });
    expect(new Set(store.received.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3);
  });

  it('maps columns and values by its options, and sends an unmapped category unchanged', async () => {
    writeFileSync(
      join(folder, 'own.csv'),
      'Rufname;Art;Stand\nRex;"Hund, klein";frei\nMia;9223372036854775807;vermittelt\nZoë;Fisch;unbekannt\n',
      'latin1',
    );
    const args = ['own.csv', '--url', store.url, '--concurrency', '1'];
    args.push('--delimiter', ';', '--encoding', 'windows-1252', '--name', 'Rufname');
    args.push('--category', 'Art', '--category-map', '"Hund, klein=7"');
    args.push(
      '--status',
      'Stand',
      '--status-map',
      'frei=available,vermittelt=sold',
      '--status-default',
      'pending',
    );
    const { code, stderr } = await start('import.mjs', args).exit;
    expect(code).toBe(0);
    expect(store.received.map(({ body }) => body)).toEqual([
      '{"name":"Rex","categoryId":7,"status":"available"}',
      '{"name":"Mia","categoryId":9223372036854775807,"status":"sold"}',
      '{"name":"Zoë","categoryId":"Fisch","status":"pending"}',
    ]);
    expect(stderr).toContain('no mapping for the category "Fisch" (rows: 1): sent unchanged');
    expect(stderr).toContain('no mapping for the status "unbekannt" (rows: 1): sent as pending');
  });

  it('records rejected rows by code and message with their first row numbers', async () => {
    writeAnimals(['Ann', '', 'Bo', '', '', 'Cy', '', '', '']);
    store.respond = ({ name }) => {
      if (name === '') return rejection(400, 'invalid_request', 'name: 1 to 255 characters');
      return name === 'Cy' ? rejection(413, 'payload_too_large', 'too large') : undefined;
    };
    const { code, stdout } = await startImport().exit;
    expect(code).toBe(0);
    expect(stdout).toMatch(/rows +9\n +added +2\n +rejected +7\n/);
    expect(stdout).toContain(
      '6 × 400 invalid_request: name: 1 to 255 characters (rows 2, 4, 5, 7, 8, …)\n' +
        '    1 × 413 payload_too_large: too large (rows 6)\n',
    );
    expect(stdout).toContain('requests  9, retries 0, 429 responses 0');
  });

  it('pauses all workers until Retry-After after a 429', async () => {
    writeAnimals(numbered(20));
    let rejectedAtMs = 0;
    store.respond = () => {
      if (store.received.length < 8 || (rejectedAtMs && Date.now() - rejectedAtMs >= 1000)) {
        return { status: 201, delayMs: 5 };
      }
      rejectedAtMs ||= Date.now();
      return { ...rejection(429, 'rate_limit_exceeded'), headers: { 'retry-after': '1' } };
    };
    const { code, summary } = await importAnimals('--concurrency', '4');
    expect(code).toBe(0);
    expect(summary).toMatchObject({ added: 20, rejected: 0 });
    // Within that second, the store rejects everything: the first request, and at most one request
    // in
    // progress of each other worker.
    expect(summary.run.tooManyRequests).toBeLessThanOrEqual(4);
  });

  it('waits for Reset when Remaining is 0, and never gets a 429', async () => {
    writeAnimals(numbered(8));
    let window = { endsAtSeconds: 0, used: 0 };
    store.respond = () => {
      if (Date.now() >= window.endsAtSeconds * 1000) {
        window = { endsAtSeconds: Math.floor(Date.now() / 1000) + 1, used: 0 };
      }
      window.used += 1;
      if (window.used > 6)
        return { ...rejection(429, 'rate_limit_exceeded'), headers: { 'retry-after': '1' } };
      const headers = {
        'x-ratelimit-limit': '6',
        'x-ratelimit-remaining': String(6 - window.used),
        'x-ratelimit-reset': String(window.endsAtSeconds),
      };
      return { status: 201, headers, delayMs: 10 };
    };
    const { code, summary } = await importAnimals('--concurrency', '4');
    expect(code).toBe(0);
    expect(summary).toMatchObject({ added: 8, run: { tooManyRequests: 0, requests: 8 } });
  });

  it('retries after a 503 and its Retry-After, and after a lost connection, with the same Idempotency-Key', async () => {
    writeAnimals(['Ann', 'Bo', 'Cy']);
    const triesOf = (name: string) => store.names().filter((each) => each === name).length;
    store.respond = ({ name }) => {
      if (name === 'Ann' && triesOf(name) === 1) {
        return { ...rejection(503, 'service_unavailable'), headers: { 'retry-after': '1' } };
      }
      return name === 'Bo' && triesOf(name) === 1 ? 'hang up' : undefined;
    };
    const { code, summary } = await importAnimals();
    expect(code).toBe(0);
    expect(summary).toMatchObject({ added: 3, run: { requests: 5, retries: 2 } });
    const [first, second] = store.received.filter(({ name }) => name === 'Ann');
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(1000);
    for (const name of ['Ann', 'Bo']) {
      const keys = store.received
        .filter((each) => each.name === name)
        .map((each) => each.idempotencyKey);
      expect(new Set(keys).size).toBe(1);
    }
  });

  it('stops with exit code 1 after --tries, keeps its state and continues from there', async () => {
    writeAnimals(numbered(6));
    store.respond = ({ name }) =>
      name === 'Animal 4' ? rejection(503, 'service_unavailable') : undefined;
    const stopped = await importAnimals('--tries', '2', '--concurrency', '1', '--quiet');
    expect(stopped.code).toBe(1);
    expect(stopped.stderr).toBe('import: no response after 2 tries: 503 service_unavailable\n');
    expect(stopped.summary).toMatchObject({ added: 3, left: 3 });
    store.respond = () => undefined;
    store.received = [];
    const resumed = await importAnimals();
    expect(resumed).toMatchObject({ code: 0, summary: { added: 6, left: 0, run: { added: 3 } } });
    expect(store.names().sort()).toEqual(['Animal 4', 'Animal 5', 'Animal 6']);
  });

  it('continues after a kill without losing or duplicating a row', async () => {
    writeAnimals(numbered(40));
    store.respond = () => ({ status: 201, delayMs: 20 });
    const { child, exit } = startImport('--concurrency', '4');
    await until(() => store.received.length >= 18);
    child.kill('SIGKILL');
    await exit;
    const finished = journalLines().length;
    expect(finished).toBeGreaterThanOrEqual(10);
    await until(() => store.animals.size === store.received.length);
    const addedBefore = store.animals.size;

    const { code, summary } = await importAnimals();
    expect(code).toBe(0);
    expect(summary).toMatchObject({ added: 40, left: 0 });
    expect(summary.run).toMatchObject({ sent: 40 - finished, replayed: addedBefore - finished });
    expect(store.animals.size).toBe(40);
    expect(new Set(journalLines().map(({ id }) => id)).size).toBe(40);
  });

  it('sends a row again if its line in the state file is truncated', async () => {
    writeAnimals(['Ann', 'Bo']);
    await importAnimals('--concurrency', '1');
    const state = join(folder, 'animals.csv.import.jsonl');
    writeFileSync(state, readFileSync(state, 'utf8').slice(0, -8));
    const { code, summary } = await importAnimals();
    expect(code).toBe(0);
    expect(summary).toMatchObject({ added: 2, run: { sent: 1, replayed: 1 } });
    expect(journalLines()).toEqual([
      { row: 1, outcome: 'added', id: '1' },
      { row: 2, outcome: 'added', id: '2' },
    ]);
  });

  it('finishes requests in progress on SIGINT, prints the summary and exits with 130', async () => {
    writeAnimals(numbered(200));
    store.respond = () => ({ status: 201, delayMs: 100 });
    const { child, exit } = startImport('--concurrency', '3');
    await until(() => store.received.length >= 4);
    child.kill('SIGINT');
    const { code, stdout } = await exit;
    expect(code).toBe(130);
    expect(stdout).toContain(
      'stopped by SIGINT; run the same command to continue from animals.csv.import.jsonl',
    );
    expect(journalLines()).toHaveLength(store.received.length);
    expect(store.received.length).toBeLessThan(20);
  });

  it('does not wait for a limit after SIGINT', async () => {
    writeAnimals(numbered(3));
    store.respond = () => ({
      ...rejection(429, 'api_key_banned'),
      headers: { 'retry-after': '300' },
    });
    const { child, exit } = startImport();
    let progress = '';
    child.stderr.on('data', (text) => (progress += String(text)));
    await until(() => progress.includes('waiting for the limit'));
    child.kill('SIGINT');
    const { code, stderr } = await exit;
    expect(code).toBe(130);
    expect(stderr).toMatch(/^waiting for the limit until \d\d:\d\d:\d\d$/m);
    expect(store.received).toHaveLength(1);
  });

  it('stops at once with one line when the key is rejected', async () => {
    writeAnimals(numbered(50));
    store.respond = () => rejection(401, 'invalid_api_key');
    const { code, stdout, stderr } = await startImport('--quiet').exit;
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: 'import: the service rejects the API key (invalid_api_key)\n',
    });
    expect(store.received).toHaveLength(1);
  });

  it('stops at a response that does not depend on the row', async () => {
    writeAnimals(numbered(9));
    store.respond = () => rejection(404, 'route_not_found', 'no such path');
    const { code, stderr, summary } = await importAnimals('--quiet');
    expect(code).toBe(1);
    expect(stderr).toContain(
      `unexpected response from ${store.url}/v1/pets: 404 route_not_found: no such path`,
    );
    expect(summary).toMatchObject({ added: 0, rejected: 0, left: 9 });
  });

  it('never prints the key, even if the service returns it', async () => {
    writeAnimals(['Ann', 'Bo', 'Cy']);
    store.respond = ({ name }, authorization) => {
      expect(authorization).toBe(`Bearer ${KEY}`);
      return rejection(name === 'Cy' ? 404 : 400, `code ${KEY}`, `not ${authorization}`);
    };
    const { stdout, stderr } = await startImport('--key', KEY, '--concurrency', '1').exit;
    const state = readFileSync(join(folder, 'animals.csv.import.jsonl'), 'utf8');
    expect(stdout).toContain('not Bearer [API key]');
    expect(stdout + stderr + state).not.toContain(KEY);
  });

  it('sends blank names as --name-default', async () => {
    writeAnimals(['Ann', '', '  ']);
    const { code } = await importAnimals('--name-default', 'No name', '--concurrency', '1');
    expect(code).toBe(0);
    expect(store.names()).toEqual(['Ann', 'No name', 'No name']);
  });

  it('shows while it waits how long all windows of the limit will take', async () => {
    writeAnimals(numbered(10));
    store.respond = () => {
      const remaining = 4 - store.received.length;
      const headers = {
        'x-ratelimit-remaining': String(remaining),
        'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 50),
        'ratelimit-policy': '"minute";q=4;w=60, "day";q=1000;w=86400',
        ratelimit: `"minute";r=${remaining};t=50, "day";r=900;t=86000`,
      };
      return { status: 201, headers };
    };
    const { child, exit } = startImport('--concurrency', '1');
    let progress = '';
    child.stderr.on('data', (text) => (progress += String(text)));
    await until(() => progress.includes('waiting for the limit'));
    child.kill('SIGINT');
    const { stderr } = await exit;
    // 50 s until the window ends with 4 rows, then 60 s until the last 2 rows.
    expect(stderr).toMatch(/4\/10 rows {2}40% {2}ETA 1:(49|50|51)/);
    expect(store.received).toHaveLength(4);
  });

  it('reports a failure once', async () => {
    writeAnimals(['Ann', 'Bo']);
    store.respond = () => rejection(503, 'service_unavailable');
    const { code, stdout, stderr } = await startImport('--tries', '1').exit;
    expect(code).toBe(1);
    expect(stdout).toContain('stopped early; run the same command to continue from ');
    expect(`${stdout}${stderr}`.match(/service_unavailable/g)).toHaveLength(1);
  });

  it('sends nothing when a later line is not CSV', async () => {
    writeFileSync(join(folder, 'animals.csv'), 'name,animal_type,outcome_type\nAnn,Dog,\nBo,Dog\n');
    const { code, stderr } = await importAnimals();
    expect(code).toBe(1);
    expect(stderr).toBe('import: line 3: 2 values, but the header has 3\n');
    expect(store.received).toEqual([]);
  });
});

describe('the state file of the importer', () => {
  withFolderAndStore(beforeAll, afterAll);

  beforeAll(async () => {
    writeAnimals(['Ann', 'Bo']);
    await importAnimals();
    writeFileSync(join(folder, 'others.csv'), 'name,animal_type,outcome_type\nCy,Dog,\n');
  });

  const advice = 'name another state file with --state';
  const uses: [what: string, file: string, args: string[], message: string][] = [
    ['file', 'others.csv', [], `belongs to another file, or this one has changed; ${advice}`],
    ['address', 'animals.csv', ['--url', 'http://127.0.0.1:1/store'], 'belongs to an import to '],
    [
      'mapping',
      'animals.csv',
      ['--status-default', 'pending'],
      `was begun with other mappings of columns or values; ${advice}`,
    ],
  ];
  it.each(uses)('is rejected for another %s', async (_what, file, more, message) => {
    const state = 'animals.csv.import.jsonl';
    const args = [file, '--preset', 'austin', '--state', state, '--url', store.url, ...more];
    const { code, stderr } = await start('import.mjs', args).exit;
    expect(code).toBe(1);
    expect(stderr).toContain(`import: ${state} ${message}`);
    expect(store.received).toHaveLength(2);
  });

  it('is rejected and not changed when it is not a state file', async () => {
    const before = readFileSync(join(folder, 'animals.csv'));
    const { code, stderr } = await importAnimals('--state', 'animals.csv');
    expect(code).toBe(1);
    expect(stderr).toBe('import: animals.csv is not a state file of this importer\n');
    expect(readFileSync(join(folder, 'animals.csv'))).toEqual(before);
  });
});

describe('the command line of the importer', () => {
  withFolderAndStore(beforeAll, afterAll);

  const wrongUsage: [args: string[], message: string][] = [
    [[], 'expected one FILE; see --help'],
    [['animals.csv', 'a-key-that-lost-its-option'], 'expected one FILE; see --help\n'],
    [['animals.csv', '--colour', 'red'], "Unknown option '--colour'"],
    [['animals.csv', '--preset', 'toString'], '--preset must be one of: austin'],
    [['animals.csv', '--category-default', '1'], '--name or --preset is required'],
    [['animals.csv', '--name', 'name'], '--category, --category-default or --preset is required'],
    [
      ['animals.csv', '--preset', 'austin', '--name', 'Name'],
      'the file has no column "Name"; it has name, animal_type, outcome_type',
    ],
    [
      ['animals.csv', '--preset', 'austin', '--status-default', 'dead'],
      '--status-map and --status-default must be one of available, pending, sold',
    ],
    [
      ['animals.csv', '--preset', 'austin', '--category-map', 'Dog=one'],
      '--category-map and --category-default must be whole numbers',
    ],
    [
      ['animals.csv', '--preset', 'austin', '--concurrency', '0'],
      '--concurrency must be a whole number from 1 to 100',
    ],
    [
      ['animals.csv', '--preset', 'austin', '--url', 'http://127.0.0.1:3000/v1'],
      '--url must be the address without /v1',
    ],
  ];
  /** The exit code and the printed lines of each usage. */
  let rejections: { code: number; printed: string[] }[];

  beforeAll(async () => {
    writeAnimals(['Ann']);
    // One process runs all cases up to the first request.
    const program = `
      const [options, shelter, exit] = await Promise.all(
        ['options', 'shelter-file', 'import-error'].map((name) => import(process.argv[1] + name + '.mjs')),
      );
      const rejections = [];
      for (const args of JSON.parse(process.argv[2])) {
        const printed = [];
        console.error = (line) => printed.push(line);
        try {
          const { file, mapping, format, limitRows } = options.parseImportOptions(args, process.env);
          shelter.readShelterFile(file, mapping, format, limitRows);
          rejections.push({ code: 0, printed });
        } catch (error) { rejections.push({ code: exit.reportFailure('import', error), printed }); }
      }
      console.log(JSON.stringify(rejections));`;
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        program,
        `file://${EXAMPLE}/`,
        JSON.stringify(wrongUsage.map(([args]) => args)),
      ],
      { cwd: folder, env: { ...process.env, API_KEY: KEY }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let stdout = '';
    for await (const chunk of child.stdout) stdout += chunk;
    rejections = JSON.parse(stdout);
  });

  it.each(wrongUsage)('rejects the usage %j with one line and exit code 2', (args, message) => {
    const { code, printed } = rejections[wrongUsage.findIndex((usage) => usage[0] === args)]!;
    expect(code).toBe(2);
    expect(printed).toHaveLength(1);
    expect(`${printed[0]}\n`).toContain(`import: ${message}`);
    expect(printed[0]).not.toContain('\n');
  });

  it('requires a key', async () => {
    const { code, stderr } = await start('import.mjs', IMPORT_ARGS, '').exit;
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'import: an API key is required; set API_KEY or --key\n',
    });
  });
});

describe('the comparison of the store with the file', () => {
  withFolderAndStore(beforeAll, afterAll);
  /** Greater than 2^53, where a JavaScript number is not exact. */
  const FIRST_ID = 9223372036854775000n;
  /** All animals of the store as JSON, after an import with one blank name. */
  let animals: string[];

  beforeAll(async () => {
    writeAnimals(['Ann', 'Bo', '', 'Ann', 'Cy']);
    store.firstId = FIRST_ID;
    store.respond = ({ name }) => (name === '' ? rejection(400, 'invalid_request') : undefined);
    await importAnimals('--concurrency', '1');
    animals = [...store.animals.values()].map(({ json }) => json);
  });

  const other = '{"id":9223372036854775807,"name":"Rex","categoryId":1,"status":"sold"}';
  const twin = '{"id":9223372036854775807,"name":"Bo","categoryId":1,"status":"sold"}';
  const stores: [
    title: string,
    pages: (animals: string[]) => string[][],
    args: string[],
    code: number,
    lines: string[],
  ][] = [
    [
      'finds every animal on all pages',
      ([a, b, c, d]) => [[a!, b!], [c!], [d!]],
      [],
      0,
      ['4 added, 1 rejected, 0 without a response', '4 animals on 3 pages', 'no difference'],
    ],
    [
      'ignores the animals of others',
      (animals) => [[...animals, other]],
      [],
      0,
      ['1 not of this import, 0 of them like an added row', 'no difference'],
    ],
    [
      'compares the number of animals of others with --others',
      (animals) => [[...animals, twin]],
      ['--others', '0'],
      1,
      [
        '1 not of this import, 1 of them like an added row',
        'animals not of this import: 1, expected 0',
      ],
    ],
    [
      'reports a missing animal',
      ([a, , c, d]) => [[a!, c!, d!]],
      [],
      1,
      ['1 lost', 'lost: row 2, id 9223372036854775001'],
    ],
    [
      'reports a changed animal',
      ([a, b, ...rest]) => [[a!, b!.replace('sold', 'pending'), ...rest]],
      [],
      1,
      [
        '1 changed',
        'changed: row 2, id 9223372036854775001: sent ["Bo","1","sold"], stored ["Bo","1","pending"]',
      ],
    ],
    [
      'reports an animal that is listed twice',
      (animals) => [animals, [animals[0]!]],
      [],
      1,
      ['1 twice', 'twice: row 1, id 9223372036854775000 was listed again'],
    ],
  ];
  it.each(stores)('%s', async (_title, pages, args, code, lines) => {
    store.pages = () => pages(animals).map((page) => `[${page.join()}]`);
    const result = await compareAnimals(...args);
    for (const line of lines) expect(result.stdout).toContain(line);
    expect(result.code).toBe(code);
    expect(new Set(store.listAuthorizations)).toEqual(new Set([`Bearer ${KEY}`]));
  });

  it('reports rows that have not been sent', async () => {
    const lines = readFileSync(join(folder, 'animals.csv.import.jsonl'), 'utf8').split('\n');
    writeFileSync(join(folder, 'part.jsonl'), `${lines.slice(0, 4).join('\n')}\n`);
    const result = await compareAnimals('--state', 'part.jsonl');
    expect(result.code).toBe(1);
    expect(result.stdout).toContain('rows without a response: 2; run the import again');
  });

  it('shows the position in the store as progress, even among the animals of others', async () => {
    const first = other.replace('9223372036854775807', String(FIRST_ID - 2n));
    store.pages = () => [`[${[first, animals[0], animals[1]].join()}]`, 'not JSON'];
    const { code, stderr } = await compareAnimals();
    expect(code).toBe(1);
    // At the third of the five ids from the first listed to the last expected animal.
    expect(stderr).toContain('3 animals  60%');
    expect(stderr).toContain(`compare: unexpected response from ${store.url}/v1/pets: `);
  });
});
