import type { LoggerService } from '@nestjs/common';
import type { Level, Logger } from 'pino';

/** At start, Nest logs every module and route. Only debugging needs these messages. */
const START_CONTEXTS =
  /^(?:NestFactory|InstanceLoader|RoutesResolver|RouterExplorer|NestApplication)$/;

/** Passes the messages of Nest's Logger to the logger of the service. */
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

  log(message: unknown, ...rest: unknown[]): void {
    this.write(START_CONTEXTS.test(String(rest.at(-1))) ? 'debug' : 'info', message, rest);
  }

  private writer(level: Level) {
    return (message: unknown, ...rest: unknown[]): void => this.write(level, message, rest);
  }

  /** Nest passes the context last, and a stack before it. */
  private write(level: Level, message: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    // The start fails with this error, which the process then prints.
    if (context === 'ExceptionHandler') return;
    const stack = rest.length > 1 ? rest[0] : undefined;
    const ids = this.requestIds();
    if (message instanceof Error) {
      this.logger[level]({ context, err: message, ...ids }, message.message);
    } else if (typeof message === 'object') {
      this.logger[level]({ context, ...message, ...ids });
    } else {
      const text = typeof message === 'string' ? message : JSON.stringify(message);
      this.logger[level]({ context, stack, ...ids }, text);
    }
  }
}
