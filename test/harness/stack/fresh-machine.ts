import {
  type ChildProcessWithoutNullStreams,
  execFileSync,
  spawn,
  spawnSync,
} from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../run/until.js';

const COMMAND_LIMIT_MS = 600_000;
/** Folders that packages, operators and services change. Their changes are lost with the machine. */
const CHANGED = ['etc', 'home', 'opt', 'run', 'usr', 'var'];
const NAMESPACES = ['--mount', '--pid', '--mount-proc', '--fork', '--kill-child'];
/** What npm needs to find the registry, also in a login shell. */
const REGISTRY =
  /^(?:npm_config_registry|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|https?_proxy|no_proxy)$/i;
/** Only the loopback interface exists, and is down. The number is SIOCSIFFLAGS. */
const LOOPBACK_UP = `use Socket; socket S, AF_INET, SOCK_DGRAM, 0; my $up = pack("Z16s", "lo", 1); ioctl(S, 0x8914, $up) or die $!`;

/** Whether this process may create namespaces. */
export const canIsolate =
  process.getuid?.() === 0 &&
  spawnSync('unshare', [...NAMESPACES, '--net', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status ===
    0;

/**
 * A root shell in namespaces of its own, on a copy-on-write view of this machine's files. What it
 * starts ends with it.
 */
export class FreshMachine {
  /** Files that both sides see. */
  readonly folder = mkdtempSync(join(tmpdir(), 'pets-machine-'));
  private readonly shell: ChildProcessWithoutNullStreams;
  private output = '';
  private typed = 0;

  constructor() {
    // In a session of its own, it has no terminal: programs read passwords from standard input.
    this.shell = spawn('unshare', [...NAMESPACES, 'bash'], {
      detached: true,
      env: { PATH: process.env['PATH'], HOME: '/root' },
    });
    this.shell.stdin.on('error', () => undefined);
    for (const stream of [this.shell.stdout, this.shell.stderr]) {
      stream.on('data', (text: Buffer) => (this.output += text.toString()));
    }
  }

  /** Prepares the file systems. Node.js and npm are where every user finds them. */
  async start(): Promise<void> {
    const environment = Object.entries({
      ...process.env,
      npm_config_registry: execFileSync('npm', ['config', 'get', 'registry'], {
        encoding: 'utf8',
      }).trim(),
    }).filter(([name]) => REGISTRY.test(name));
    const profile = environment.map(([name, value]) => `export ${name}='${value}'\n`).join('');
    writeFileSync(join(this.folder, 'registry.sh'), profile);
    await this.type(`
      set -e
      exec 2>&1
      umask 022
      chmod 755 ${this.folder}
      cp --dereference /etc/hosts /etc/resolv.conf ${this.folder}
      # An overlay cannot keep its changes on another one.
      if [ "$(stat --file-system --format=%T ${this.folder})" = overlayfs ]; then
        cp -r ${this.folder} /tmp/copied-$$ && mount -t tmpfs tmpfs ${this.folder}
        cp -r /tmp/copied-$$/. ${this.folder} && rm -r /tmp/copied-$$
      fi
      for name in ${CHANGED.join(' ')}; do
        mkdir -p ${this.folder}/layers/$name ${this.folder}/work/$name
        mount -t overlay overlay -o lowerdir=/$name,upperdir=${this.folder}/layers/$name,workdir=${this.folder}/work/$name /$name
      done
      cp ${this.folder}/hosts ${this.folder}/resolv.conf /etc
      cp ${this.folder}/registry.sh /etc/profile.d
      [ -x /usr/bin/node ] || ln -s ${process.execPath} $(dirname $(readlink -f $(command -v npm)))/../../../bin/npm /usr/bin`);
  }

  /**
   * Types lines into the shell. Returns what they print.
   *
   * @param inputs what to type when the line that contains the key asks for it
   * @throws Error with the output when a command fails
   */
  async type(lines: string, inputs: Readonly<Record<string, string>> = {}): Promise<string> {
    const start = this.output.length;
    const end = `typed ${++this.typed}`;
    this.shell.stdin.write(`${withInputs(lines, inputs)}\necho '${end}'\n`);
    await until(
      () => this.output.endsWith(`${end}\n`) || this.shell.exitCode !== null,
      COMMAND_LIMIT_MS,
    );
    const output = this.output.slice(start);
    if (this.shell.exitCode !== null) throw new Error(`a command failed:\n${lines}\n${output}`);
    return output.slice(0, -end.length - 1);
  }

  /** Cuts the machine off from all networks. No port of its own is then in use. */
  async unplug(): Promise<void> {
    await this.type(`exec unshare --net bash -e\n perl -e '${LOOPBACK_UP}'`);
  }

  async remove(): Promise<void> {
    if (this.shell.exitCode === null) {
      const exited = once(this.shell, 'exit');
      this.shell.kill('SIGKILL');
      await exited;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Returns the lines with here-documents, and with login shells that also end when a command fails. */
function withInputs(lines: string, inputs: Readonly<Record<string, string>>): string {
  return lines
    .split('\n')
    .map((line) => {
      if (/^ *su --login \S+$/.test(line)) return `${line}\nset -e`;
      // Debian's .bash_logout may end with a failure.
      if (line.trim() === 'exit') return 'set +e\nexit';
      const [, text] = Object.entries(inputs).find(([part]) => line.includes(part)) ?? [];
      return text === undefined ? line : `${line.replace(/ +# .*$/, '')} <<'INPUT'\n${text}\nINPUT`;
    })
    .join('\n');
}
