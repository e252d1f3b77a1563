import { isatty } from 'node:tty';
import { type DestinationStream, pino, type Logger } from 'pino';
import type { LoggingSettings, LogLevel } from '../config/logging-settings.js';
import { errorDetails } from './error-details.js';
import { LogOutput } from './log-output.js';

const STDOUT = 1;

/** Masked in every line: callers send API keys in paths or names, and many people read logs. */
const API_KEY = /aas_[0-9A-Za-z]{36}/g;

/** The token by which providers inject the logger of the process. */
export const LOGGER = Symbol('logger');

/** The log of the process, on standard output. */
export interface Log {
  readonly logger: Logger;
  readonly output: LogOutput;
}

/** Returns the log of the process. Its lines are JSON, or readable text on a terminal. */
export async function createLog({ level, bufferBytes }: LoggingSettings): Promise<Log> {
  const output = new LogOutput(bufferBytes, (lines) => logger.warn({ lines }, 'log lines dropped'));
  // A package may end the process, as Nest does when one is missing.
  process.once('exit', () => output.writeRest());
  let destination: DestinationStream = output;
  if (isatty(STDOUT)) {
    const { terminalLine } = await import('./terminal-line.js');
    destination = { write: (line) => output.write(terminalLine(line)) };
  }
  const logger = createLogger(level, destination);
  return { logger, output };
}

/** Returns a logger that writes JSON lines. It masks API keys, wherever they are in a line. */
export function createLogger(level: LogLevel, destination: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: timeMember(),
      serializers: { err: errorDetails },
      hooks: { streamWrite: withoutKeys },
    },
    destination,
  );
}

/** Returns a function that writes the time of a line in RFC 3339, once per millisecond. */
function timeMember(): () => string {
  let writtenMs = NaN;
  let member = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== writtenMs) {
      writtenMs = nowMs;
      member = `,"time":"${new Date(nowMs).toISOString()}"`;
    }
    return member;
  };
}

function withoutKeys(line: string): string {
  return line.includes('aas_') ? line.replace(API_KEY, 'aas_***') : line;
}
