import type { LoggerService } from '@nestjs/common';
import { pino, type Logger, type LoggerOptions } from 'pino';
import pretty from 'pino-pretty';
import type { LogLevel } from '../config/settings.js';

/** Callers put keys where they do not belong (paths, names of animals), and logs are read by many. */
const API_KEY = /aas_[0-9A-Za-z]{36}/g;

/**
 * Returns the logger of the process: JSON lines, or readable ones where the output is a terminal. API
 * keys are not readable in it, whatever holds them.
 */
export function createLogger(level: LogLevel): Logger {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    hooks: { streamWrite: withoutKeys },
  };
  return process.stdout.isTTY ? pino(options, pretty({ sync: true })) : pino(options);
}

function withoutKeys(line: string): string {
  return line.includes('aas_') ? line.replace(API_KEY, 'aas_***') : line;
}

/** Carries what Nest and its modules log to the service's logger. */
export class NestLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    // Nest tells every module and route at start: of interest only when something is looked for.
    this.write('debug', message, rest);
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
    level: 'trace' | 'debug' | 'warn' | 'error' | 'fatal',
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
