import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HANG_LIMIT_MS } from '../run/until.js';
import { inheritedEnvironment, PATIENT } from '../service/service.js';
import type { Cli } from './command.js';
import { NODE } from './node.js';

interface TerminalResult {
  code: number | null;
  /** Everything that the terminal showed: standard error and the echo of what was typed. */
  screen: string;
  /** Standard output, which goes to a file. */
  stdout: string;
}

/**
 * Runs a command on a terminal (util-linux's `script`).
 *
 * @param keys to type when the command asks for confirmation. A function can do something before it returns them
 */
export async function runInTerminal(
  cli: Cli,
  args: readonly string[],
  keys: string | (() => Promise<string>),
): Promise<TerminalResult> {
  const folder = mkdtempSync(join(tmpdir(), 'terminal-'));
  try {
    const output = join(folder, 'stdout');
    const command = [...NODE, cli.program, ...args].map((word) => `'${word}'`).join(' ');
    const child = spawn('script', ['-qec', `${command} >'${output}'`, '/dev/null'], {
      // Outlives no test.
      timeout: HANG_LIMIT_MS,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...inheritedEnvironment(), ...PATIENT, ...cli.env },
    });
    let screen = '';
    let asked = false;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      screen += text;
      if (asked || !screen.includes('Type the name of the database to continue: ')) return;
      asked = true;
      if (typeof keys === 'string') child.stdin.write(keys);
      else void keys().then((typed) => child.stdin.write(typed));
    });
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, screen: screen.replaceAll('\r', ''), stdout: readFileSync(output, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
