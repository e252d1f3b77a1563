import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient, send } from '../../harness/http/client.js';
import { useDatabase } from '../../harness/database/database.js';
import { createOwner } from '../../harness/database/factories.js';
import { HANG_LIMIT_MS, until } from '../../harness/run/until.js';
import { metric } from '../../harness/service/metrics.js';
import { logLines, type LogLine } from '../../harness/service/output.js';
import { type Environment, inheritedEnvironment, PATIENT } from '../../harness/service/service.js';
import { freePort } from '../../harness/processes/free-port.js';

const MAIN = join(__dirname, '../../../reports/product/src/main.js');
/** The minimum of LOG_BUFFER_BYTES. */
const SMALL_BUFFER = { LOG_BUFFER_BYTES: '65536' };
/** So long that 150 lines fill a pipe (64 KiB) and the smallest buffer. */
const LONG_PATH = `/nope/${'x'.repeat(2_000)}`;
const REQUESTS = 700;

const PET = '{"name":"Frank","categoryId":1}';

jest.setTimeout(3 * HANG_LIMIT_MS);

const database = useDatabase();
let key: string;
let folder: string;
let service: StuckService | undefined;
/** The pipes that a test reads. */
const sockets: Socket[] = [];

beforeAll(async () => {
  ({ key } = await createOwner(database));
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stuck-output-'));
});
afterEach(() => {
  service?.process.kill('SIGKILL');
  service = undefined;
  for (const socket of sockets.splice(0)) socket.destroy();
  rmSync(folder, { recursive: true, force: true });
});

/** The built service on a known port, because its log cannot be read. */
class StuckService {
  private constructor(
    readonly process: ChildProcess,
    readonly port: number,
    private readonly metricsPort: number,
  ) {}

  static async start(
    stdout: number | 'pipe',
    env: Environment = {},
    command: string[] = [process.execPath, MAIN],
  ): Promise<StuckService> {
    const port = await freePort();
    const metricsPort = await freePort();
    const [file = '', ...args] = command;
    const child = spawn(file, args, {
      stdio: ['ignore', stdout, 'inherit'],
      env: {
        ...inheritedEnvironment(),
        ...PATIENT,
        PORT: String(port),
        METRICS_PORT: String(metricsPort),
        DATABASE_URL: database.url,
        ANONYMOUS_REQUESTS_PER_MINUTE: '1000000',
        ...env,
      },
    });

    const started = new StuckService(child, port, metricsPort);
    service = started;
    await until(() => started.isAlive(), HANG_LIMIT_MS);
    return started;
  }

  /** Sends requests with a long line each, health probes, and a create. Expects every response. */
  async serve(requests = REQUESTS): Promise<void> {
    for (let sent = 0; sent < requests; sent++) {
      expect((await send(this, LONG_PATH)).status).toBe(401);
    }
    expect((await send(this, '/health/live')).status).toBe(200);
    expect((await send(this, '/health/ready')).status).toBe(200);
    expect((await new ApiClient(this, key).post('/v1/items', PET)).status).toBe(201);
  }

  async droppedLines(): Promise<number> {
    const metrics = async () => (await send({ port: this.metricsPort }, '/metrics')).text;
    return metric({ metrics }, 'log_lines_dropped_total');
  }

  /** Sends a signal and returns the exit code, or 'still running'. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string | null> {
    const exited = once(this.process, 'exit') as Promise<[number | null]>;
    this.process.kill(signal);
    const limit = sleep(HANG_LIMIT_MS, ['still running'] as const, { ref: false });
    const [code] = await Promise.race([exited, limit]);
    return code;
  }

  private async isAlive(): Promise<boolean> {
    if (this.process.exitCode !== null) throw new Error('the service ended');
    return send(this, '/health/live').then(
      ({ status }) => status === 200,
      () => false,
    );
  }
}

/** A pipe that nobody reads until `read` is called. */
class StalledPipe {
  private readonly reader: number;
  readonly writer: number;

  constructor() {
    const path = join(folder, 'pipe');
    spawnSync('mkfifo', [path]);
    this.reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    this.writer = openSync(path, constants.O_WRONLY);
  }

  /** Closes the writer of this process once the service has it, so that the pipe can end. */
  handOver(): void {
    closeSync(this.writer);
  }

  close(): void {
    closeSync(this.reader);
  }

  /** Starts reading. Returns a function that returns the lines so far. */
  read(): () => LogLine[] {
    const chunks: Buffer[] = [];
    const socket = new Socket({ fd: this.reader, readable: true, writable: false });
    sockets.push(socket.on('data', (chunk) => chunks.push(chunk)));
    return () => logLines(wholeLines(Buffer.concat(chunks).toString()));
  }
}

/** Returns the text up to its last line end. More of the last line may follow. */
const wholeLines = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1);

const isRequest = ({ msg }: LogLine): boolean => msg === 'request';
const isReport = ({ msg }: LogLine): boolean => msg === 'log lines dropped';

describe('standard output is a pipe that nobody reads', () => {
  test.each([
    ['SIGTERM', 'SIGTERM', 0],
    ['an uncaught exception', 'SIGUSR2', 1],
  ] as const)(
    'all requests are served, lines are dropped and counted, and %s ends the service after SHUTDOWN_GRACE_SECONDS',
    async (_title, signal, code) => {
      const pipe = new StalledPipe();
      const stuck = await StuckService.start(pipe.writer, {
        ...SMALL_BUFFER,
        SHUTDOWN_GRACE_SECONDS: '0.5',
        NODE_OPTIONS: `--import="data:text/javascript,process.on('SIGUSR2',()=>{throw(0)})"`,
      });
      await stuck.serve();
      expect(await stuck.droppedLines()).toBeGreaterThan(0);
      expect(await stuck.stop(signal)).toBe(code);
      pipe.handOver();
      pipe.close();
    },
  );

  test('when it is read again, one line has the number of dropped lines', async () => {
    const pipe = new StalledPipe();
    const stuck = await StuckService.start(pipe.writer, SMALL_BUFFER);
    pipe.handOver();
    await stuck.serve();
    const dropped = await stuck.droppedLines();
    const lines = pipe.read();
    await until(() => lines().some(isReport), HANG_LIMIT_MS);
    await stuck.serve(1);
    await until(() => lines().at(-1)?.['path'] === '/v1/items', HANG_LIMIT_MS);
    expect(lines().filter(isReport)).toEqual([
      expect.objectContaining({ level: 40, lines: dropped }),
    ]);
    expect(lines().filter(isRequest)).toHaveLength(REQUESTS + 1 + 2 - dropped);
    expect(await stuck.droppedLines()).toBe(dropped);
    expect(await stuck.stop()).toBe(0);
  });

  test('a clean shutdown writes what is buffered', async () => {
    const pipe = new StalledPipe();
    const stuck = await StuckService.start(pipe.writer);
    pipe.handOver();
    await stuck.serve();
    const lines = pipe.read();
    expect(await stuck.stop()).toBe(0);
    await until(() => lines().at(-1)?.msg === 'stopped', HANG_LIMIT_MS);
    expect(lines().filter(isRequest)).toHaveLength(REQUESTS + 1);
    expect(lines().some(isReport)).toBe(false);
  });
});

test.each(['a closed pipe', '/dev/full'])(
  'standard output is %s: all requests are served, and SIGTERM ends the service',
  async (output) => {
    const pipe = output === '/dev/full' ? undefined : new StalledPipe();
    const stdout = pipe?.writer ?? openSync('/dev/full', 'w');
    const stuck = await StuckService.start(stdout, SMALL_BUFFER);
    closeSync(stdout);
    pipe?.close();
    await stuck.serve();
    expect(await stuck.droppedLines()).toBeGreaterThan(0);
    expect(await stuck.stop()).toBe(0);
  },
);
