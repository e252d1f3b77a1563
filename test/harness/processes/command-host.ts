import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const SCRIPT = join(__dirname, '../../../reports/product/test/harness/programs/service-host.js');

/** A host in addition to that of the worker, for a command that runs beside another one: a host runs one at a time. */
export class CommandHost {
  private constructor(
    readonly port: number,
    private readonly process: ChildProcess,
  ) {}

  static async start(): Promise<CommandHost> {
    const child = spawn(process.execPath, ['--enable-source-maps', SCRIPT], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    return new CommandHost(Number(port), child);
  }

  async stop(): Promise<void> {
    const exited = once(this.process, 'exit');
    this.process.stdin?.end();
    await exited;
  }
}
