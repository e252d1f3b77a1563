import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { expectNothingHeld } from './metrics.js';
import { addOutput, expectNoKey, newOutput } from './output.js';

interface ApplicationOptions {
  env: Record<string, string>;
  nowMs: number;
  app: boolean | string;
  features: readonly string[];
}

interface HostMessage {
  port?: number;
  nowMs?: number;
  job?: string;
  log?: string;
  failure?: string;
  metrics?: string;
}

/** Connects to the host of this worker (service-host.ts), or to that with the port. */
export function connectToHost(port = portOfHost()): Socket {
  return connect(port, '127.0.0.1');
}

function printCause(log: string): void {
  if (!/"level":[56]0/.test(log)) return;
  const { err } = JSON.parse(log) as { err?: { stack?: string } };
  process.stderr.write(`${err?.stack ?? log}\n`);
}

function portOfHost(): number {
  const hosts = JSON.parse(process.env['TEST_HOST_PORTS'] ?? '[]') as number[];
  const worker = Number(process.env['JEST_WORKER_ID'] ?? 1) - 1;
  return hosts[worker % hosts.length] ?? 0;
}

export class HostedApplication {
  readonly output = newOutput();
  /** By job; '' is what else the host was asked. */
  private readonly settle = new Map<string, (message: HostMessage) => void>();

  private constructor(
    private readonly socket: Socket,
    isTeam: boolean,
    public readonly port = 0,
  ) {
    createInterface({ input: socket }).on('line', (line) => {
      const message = JSON.parse(line) as HostMessage;
      if (message.log !== undefined) {
        addOutput(this.output, message.log.trimEnd());
        // Those who write a feature need the cause. The tests of the platform cause failures.
        if (isTeam) printCause(message.log);
      } else this.settle.get(message.job ?? '')?.(message);
    });
    socket.on('error', () => socket.destroy());
  }

  static async start(options: ApplicationOptions): Promise<HostedApplication> {
    const socket = connectToHost();
    const application = new HostedApplication(socket, options.app === true);
    const { port, failure } = await application.ask(options);
    if (port === undefined) throw new Error(`the application did not start: ${failure}`);
    return Object.assign(application, { port });
  }

  async setClock(nowMs: number): Promise<void> {
    await this.ask({ nowMs });
  }

  /** @throws Error with that of the job */
  async runJob(job: string): Promise<void> {
    const { failure } = await this.ask({ job }, job);
    if (failure !== undefined) throw new Error(failure);
  }

  async metrics(): Promise<string> {
    return (await this.ask({})).metrics ?? '';
  }

  /** @throws Error when the application holds something although no client is connected */
  async close(): Promise<void> {
    if (this.socket.closed) return;
    await expectNothingHeld(
      this.port,
      async () => (await this.ask({ isClosing: true })).metrics ?? '',
    );
    this.socket.end();
    await once(this.socket, 'close');
    expectNoKey(this.output);
  }

  private ask(message: object, job = ''): Promise<HostMessage> {
    return new Promise((resolve, reject) => {
      const onClose = (): void => reject(new Error('the host of the application has ended'));
      this.socket.once('close', onClose);
      this.settle.set(job, (response) => {
        this.socket.off('close', onClose);
        resolve(response);
      });
      this.socket.write(`${JSON.stringify(message)}\n`);
    });
  }
}
