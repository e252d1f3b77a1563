import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, pino, type Logger, type LoggerOptions } from 'pino';
import type { LogLevel } from '../config/settings.js';
import { logOutput } from './log-output.js';

/** Callers put keys where they do not belong (paths, names of animals), and logs are read by many. */
const API_KEY = /aas_[0-9A-Za-z]{36}/g;

/**
 * Returns the logger of the process: JSON lines, or readable ones where the output is a terminal. API
 * keys are not readable in it, whatever holds them.
 *
 * @param destination where the lines go, standard output by default
 */
export async function createLogger(
  level: LogLevel,
  destination?: DestinationStream,
): Promise<Logger> {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: timeMember(),
    hooks: { streamWrite: withoutKeys },
  };
  if (destination) return pino(options, destination);
  if (!process.stdout.isTTY) return pino(options, logOutput());
  // Loaded only where it is of use.
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ sync: true }));
}

/** Returns the line's time (RFC 3339, UTC), written once for all lines of a millisecond. */
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

/** Carries what Nest and its modules log to the service's logger. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    // Nest tells every module and route at start, as text: of interest only when something is looked for.
    this.write(typeof message === 'object' ? 'info' : 'debug', message, rest);
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  /** Nest passes the context last, and a stack before it. */
  private write(
    level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal',
    message: unknown,
    rest: unknown[],
  ) {
    const context = rest.at(-1);
    const stack = rest.length > 1 ? rest[0] : undefined;
    if (message instanceof Error) this.logger[level]({ context, err: message }, message.message);
    else if (typeof message === 'object') this.logger[level]({ context, ...message });
    else
      this.logger[level](
        { context, stack },
        typeof message === 'string' ? message : JSON.stringify(message),
      );
  }
}
