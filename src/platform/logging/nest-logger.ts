import type { LoggerService } from '@nestjs/common';
import type { Level, Logger } from 'pino';
import { describeCause } from '../errors/error-details.js';

/** At start, Nest logs every module and route. Only debugging needs these messages. */
const START_CONTEXTS =
  /^(?:NestFactory|InstanceLoader|RoutesResolver|RouterExplorer|NestApplication)$/;

/**
 * Passes the messages of Nest's Logger to the logger of the service. An error becomes `err`, the
 * members of objects become members of the line, and other arguments follow the message.
 */
export class NestLogger implements LoggerService {
  /** @param requestIds returns the identifiers of the current request, which each line contains */
  constructor(
    private readonly logger: Logger,
    private readonly requestIds: () => object | undefined,
  ) {}

  readonly warn = this.writer('warn');
  readonly error = this.writer('error');
  readonly fatal = this.writer('fatal');
  readonly debug = this.writer('debug');
  readonly verbose = this.writer('trace');

  log(...args: unknown[]): void {
    this.write(START_CONTEXTS.test(String(args.at(-1))) ? 'debug' : 'info', args);
  }

  private writer(level: Level) {
    return (...args: unknown[]): void => this.write(level, args);
  }

  /** Nest passes the context last. */
  private write(level: Level, args: unknown[]): void {
    if (!this.logger.isLevelEnabled(level)) return;
    const context = args.length > 1 && typeof args.at(-1) === 'string' ? args.pop() : undefined;
    // The start fails with this error, which the process then prints.
    if (context === 'ExceptionHandler') return;
    const members: Record<string, unknown> = {};
    const texts: unknown[] = [];
    for (const argument of args) {
      if (argument instanceof Error) members['err'] = argument;
      else if (typeof argument === 'object') Object.assign(members, argument);
      else if (argument !== undefined) texts.push(argument);
    }
    if (texts.length > 0) members['msg'] = texts.join(' ');
    else if (members['err'] instanceof Error) members['msg'] ??= describeCause(members['err']);
    this.logger[level]({ ...members, context, ...this.requestIds() });
  }
}
