import { setTimeout as delay } from 'node:timers/promises';
import { type DestinationStream, type Level, pino, type Logger } from 'pino';
import { keyForms } from '../config/key-forms.js';
import type { LoggingSettings } from '../config/settings.js';
import { errorDetails } from '../errors/error-details.js';

/** How long an exit of the process waits for a reader that does not read. */
const EXIT_WAIT_MS = 1_000;

/** No line waits for longer than 10 ms, however few there are. */
const WRITE_BYTES = 32_768;

/** Takes the place of an API key in every line: callers send them in paths or names, and many people read logs. */
export const maskedKey = (keyPrefix: string) => `${keyPrefix}***`;

/** The token by which providers inject the logger of the process. */
export const LOGGER = Symbol('logger');

/** The log of the process, on standard output. */
export type Log = Awaited<ReturnType<typeof createLog>>;

/**
 * Returns the log of the process, whose lines are JSON, or readable text on a terminal. Writing never
 * blocks the event loop. Lines that cannot be written wait in a buffer, or are dropped and counted.
 */
export async function createLog(settings: Omit<LoggingSettings, 'clientAddress'>) {
  // Node makes pipes and sockets non-blocking. A blocked write would delay the exit of the process.
  process.stdout.on('error', () => undefined);
  let dropped = 0;
  let reported = 0;
  let hasFailed = false;
  let exitsAtMs: number | undefined;
  const stream = pino.destination({
    fd: process.stdout.fd,
    sync: false,
    // With text, each line would copy all lines before it in the block (docs/performance.md).
    contentMode: 'buffer',
    // Under load, one write takes the lines of several requests.
    minLength: WRITE_BYTES,
    maxWrite: 2 * WRITE_BYTES,
    periodicFlush: 10,
    maxLength: settings.bufferBytes,
    retryEAGAIN: () => performance.now() - (exitsAtMs ?? Infinity) < EXIT_WAIT_MS,
  });
  // A package may end the process, as Nest does when one is missing. This listener must run before that
  // of pino, which would wait for a stalled reader without a limit.
  process.prependOnceListener('exit', () => {
    exitsAtMs = performance.now();
    try {
      // It would repeat a write to a full disk or a closed pipe without a limit.
      if (!hasFailed) stream.flushSync();
    } catch {
      // The rest cannot be written.
    }
    stream.destroy();
  });
  // Every error is temporary, such as a full disk: each flush tries again. pino's listener would
  // stop writing when a reader closes the pipe, without counting the lines.
  stream.removeAllListeners('error').on('error', () => (hasFailed = true));
  stream.on('write', () => (hasFailed = false));
  stream.on('drop', () => dropped++);
  stream.on('drain', () => {
    if (dropped === reported) return;
    const lines = dropped - reported;
    reported = dropped;
    logger.warn({ lines }, 'log lines dropped');
  });
  let isEnded = false;
  /** Writes text that is not a line of the log. */
  const print = (text: string): void => {
    // The types of the package declare only text.
    if (!isEnded) stream.write(Buffer.from(text) as unknown as string);
  };
  const isTerminal = process.stdout.isTTY;
  const format = isTerminal ? (await import('./terminal-line.js')).terminalLine : String;
  const logger = createLogger(settings, { write: (line) => print(format(line)) });
  /** Writes what is buffered, in at most `limitMs`. Later lines are lost. */
  const end = async (limitMs: number): Promise<void> => {
    if (isEnded) return;
    isEnded = true;
    stream.end();
    await Promise.race([new Promise((resolve) => stream.once('close', resolve)), delay(limitMs)]);
    stream.destroy();
  };
  /** The number of lines that did not fit into the buffer. */
  const droppedLines = () => dropped;
  return { logger, print, droppedLines, end };
}

/** The logger of the service, which can also write a line faster. */
export interface ServiceLogger extends Logger {
  /**
   * Writes a line as `logger[level]` does, but faster, for a line that is written for each request
   * (docs/performance.md). It uses no serializers.
   */
  writeLine(level: Level, line: object): void;
}

/** Returns a logger that writes JSON lines. It masks API keys, wherever they are in a line. */
export function createLogger(
  { level, keyPrefix }: Pick<LoggingSettings, 'level' | 'keyPrefix'>,
  destination: DestinationStream,
): ServiceLogger {
  const pattern = keyForms(keyPrefix).inText;
  const mask = maskedKey(keyPrefix);
  const withoutKeys = (line: string) =>
    line.includes(keyPrefix) ? line.replace(pattern, mask) : line;
  const logger = pino(
    {
      level,
      base: null,
      timestamp: timeMember,
      serializers: { err: errorDetails, error: errorDetails },
      hooks: { streamWrite: withoutKeys },
    },
    destination,
  );
  const writeLine = (lineLevel: Level, line: object): void => {
    if (!logger.isLevelEnabled(lineLevel)) return;
    const start = `{"level":${logger.levels.values[lineLevel]}${timeMember()},`;
    destination.write(withoutKeys(`${start}${JSON.stringify(line).slice(1)}\n`));
  };
  return Object.assign(logger, { writeLine });
}

let [writtenMs, writtenTime] = [NaN, ''];

/** Returns the time as a member of a line. The lines of a millisecond share its text (docs/performance.md). */
function timeMember(): string {
  const nowMs = Date.now();
  if (nowMs !== writtenMs) {
    [writtenMs, writtenTime] = [nowMs, `,"time":"${new Date(nowMs).toISOString()}"`];
  }
  return writtenTime;
}
