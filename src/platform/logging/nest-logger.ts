import type { LoggerService } from '@nestjs/common';
import type { Level, Logger } from 'pino';
import { describeCause, errorDetails } from './error-details.js';

/** At start, Nest logs every module and route. Only debugging needs these messages. */
const START_CONTEXTS =
  /^(?:NestFactory|InstanceLoader|RoutesResolver|RouterExplorer|NestApplication)$/;

/** A stack as text, as in `logger.error(error.message, error.stack)`. */
const STACK = /\n\s+at .+:\d+:\d+/;

/** pino writes these. A second one in the same line would replace them. */
const RESERVED = new Set(['level', 'time', 'msg', 'err']);

/** Deeper errors are not looked for, because pino does not write deeper values. */
const MAX_DEPTH = 5;

type Line = Record<string, unknown>;

/**
 * Passes the messages of Nest's Logger to the logger of the service. The first error among the
 * arguments becomes `err`, the members of objects become members of the line, and everything else
 * becomes `argument`. A name that the line already has gets an underscore.
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

  log(message: unknown, ...rest: unknown[]): void {
    this.write(START_CONTEXTS.test(String(rest.at(-1))) ? 'debug' : 'info', message, rest);
  }

  private writer(level: Level) {
    return (message: unknown, ...rest: unknown[]): void => this.write(level, message, rest);
  }

  /** Nest passes the context last. */
  private write(level: Level, message: unknown, rest: unknown[]): void {
    if (!this.logger.isLevelEnabled(level)) return;
    const last = rest.at(-1);
    const context = typeof last === 'string' && !STACK.test(last) ? rest.pop() : undefined;
    const line: Line = { ...(context !== undefined && { context }), ...this.requestIds() };
    const { text, others } = splitMessage(message);
    for (const argument of [others, ...rest]) {
      if (hasMembers(argument)) {
        for (const [name, value] of Object.entries(argument)) addMember(line, name, value);
      } else {
        const isStack = typeof argument === 'string' && STACK.test(argument);
        addMember(line, isStack ? 'stack' : 'argument', argument);
      }
    }
    this.logger[level](line, text);
  }
}

/** Returns the text of a message, and what else it has. */
function splitMessage(message: unknown): { text?: string | undefined; others?: unknown } {
  if (message instanceof Error) return { text: describeCause(message), others: message };
  if (typeof message !== 'object' || message === null) return { text: String(message) };
  const { msg, ...others } = message as Line;
  return typeof msg === 'string' ? { text: msg, others } : { others: message };
}

function hasMembers(argument: unknown): argument is object {
  if (typeof argument !== 'object' || argument === null || argument instanceof Error) return false;
  return !(Symbol.iterator in argument) && !('toJSON' in argument);
}

function addMember(line: Line, name: string, value: unknown): void {
  if (value === undefined) return;
  // A thrown value that is not an error may stand in its place, but only its type is logged.
  const isError = value instanceof Error || (name === 'err' && typeof value !== 'object');
  if (isError && !Object.hasOwn(line, 'err')) {
    line['err'] = value;
    return;
  }
  while (RESERVED.has(name) || Object.hasOwn(line, name)) name += '_';
  line[name] = toLoggable(value);
}

/** JSON omits the members of errors, Maps and Sets, and functions. */
function toLoggable(value: unknown, depth = 1): unknown {
  if (value instanceof Error) return errorDetails(value);
  if (typeof value === 'function' || typeof value === 'symbol') return String(value);
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) {
    return Array.from(value, (each) => toLoggable(each, depth + 1));
  }
  // Instances of classes stay as they are: a request, for example, has thousands of members.
  if (![Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null))
    return value;
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([name, each]) => [name, toLoggable(each, depth + 1)]));
}
