import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommandBlock, nameOf } from './command-blocks.js';

/** Runs blocks of pages one after the other, as a reader does: directory and variables stay. */
export class Shell {
  private readonly folder = mkdtempSync(join(tmpdir(), 'pets-shell-'));
  private readonly process: ChildProcessWithoutNullStreams;
  private readonly exited: Promise<unknown>;
  private count = 0;
  private read: (stream: 'stdout' | 'stderr', part: Buffer) => void = () => undefined;

  /**
   * @param cwd the directory to begin in
   * @param env all variables
   * @param isolated whether the shell has a loopback interface of its own, on which all ports are free
   */
  constructor(cwd: string, env: NodeJS.ProcessEnv, isolated = false) {
    const command = isolated ? [...ISOLATE, 'bash', '--norc'] : ['bash', '--norc'];
    this.process = spawn(command[0]!, command.slice(1), { cwd, env, detached: true });
    for (const stream of STREAMS)
      this.process[stream].on('data', (part: Buffer) => this.read(stream, part));
    this.exited = once(this.process, 'exit');
    this.process.stdin.on('error', () => undefined);
    if (isolated) this.process.stdin.write('ip link set lo up\n');
  }

  /**
   * Runs the code of a block, or other code.
   *
   * @param input for commands that read from standard input
   * @returns its standard output
   * @throws Error that names the block and shows the output if a command fails
   */
  async run(block: CommandBlock | string, code?: string, input = ''): Promise<string> {
    const name = typeof block === 'string' ? block : nameOf(block);
    const text = code ?? (typeof block === 'string' ? block : block.code);
    const path = join(this.folder, String((this.count += 1)));
    writeFileSync(path, text);
    writeFileSync(`${path}.input`, input);
    const marker = `end-of-${this.count}`;
    const line = `failed=0; set -E -o pipefail; trap 'failed=1' ERR; . ${path} < ${path}.input; [ $? = 0 ] || failed=1; trap - ERR; echo "${marker} $failed"; echo "${marker} $failed" >&2`;
    const end = new RegExp(`${marker} (\\d)\\n`);
    const output = { stdout: '', stderr: '' };
    const ended = new Promise<boolean>((resolve) => {
      this.read = (stream, part) => {
        output[stream] += part.toString();
        if (end.test(output.stdout) && end.test(output.stderr)) resolve(true);
      };
    });
    this.process.stdin.write(`${line}\n`);
    const isEnd = await Promise.race([ended, this.exited.then(() => false)]);
    const all = () => `${output.stdout}${output.stderr}`;
    if (!isEnd) throw new Error(`The shell has ended in ${name}:\n${all()}`);
    const [, failed] = end.exec(output.stdout) ?? [];
    for (const stream of STREAMS) output[stream] = output[stream].replace(end, '');
    if (failed === '0') return output.stdout;
    const where = typeof block === 'string' ? '' : ` (line ${block.line})`;
    throw new Error(`A command of ${name}${where} has failed:\n${text}\nIts output:\n${all()}`);
  }

  /** Ends it and everything that it has started. */
  async end(): Promise<void> {
    this.process.stdin.end('kill $(jobs -p) 2>/dev/null; wait\n');
    await this.exited;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const STREAMS = ['stdout', 'stderr'] as const;

const ISOLATE = ['unshare', '--net', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])];

/** Whether a shell can be isolated on this machine. */
export const hasNamespaces =
  spawnSync(ISOLATE[0]!, [...ISOLATE.slice(1), 'ip', 'link', 'set', 'lo', 'up']).status === 0;
if (!hasNamespaces) process.stderr.write('Skipped: needs unshare and ip (Debian: iproute2).\n');
