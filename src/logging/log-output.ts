import { constants, fstatSync, openSync, write } from 'node:fs';
import { isatty } from 'node:tty';

const STDOUT = 1;
/** How long lines are collected before a write: an asynchronous write of a single line costs more than the line itself. */
const WRITE_DELAY_MS = 10;
/** How soon a write that failed is tried again. A terminal that is stopped is full (EAGAIN) until somebody resumes it. */
const RETRY_MS = 100;
/** Free space, in bytes, at which the number of dropped lines is reported: more than its line takes. */
const REPORT_BYTES = 1_024;

/** Writes some of the bytes and reports how many, or the error. Never blocks. */
type WriteBytes = (
  bytes: Buffer,
  done: (error: NodeJS.ErrnoException | null | undefined, written: number) => void,
) => void;

/**
 * Standard output as the destination of a log, instead of pino's own: that one sleeps and repeats a write that fails, also
 * while the process exits. Writing never blocks the event loop, and never fails: while
 * nothing can be written (a full disk, a reader that has stopped, a closed pipe), lines wait in a buffer. Lines that do
 * not fit are dropped and counted. A few milliseconds of lines are written at once.
 */
export class LogOutput {
  /** Lines that wait for the write in progress. */
  private lines = '';
  /** The rest of what is being written. */
  private chunk: Buffer = Buffer.alloc(0);
  private bufferedBytes = 0;
  private isWriting = false;
  /** The next write has been scheduled. */
  private isScheduled = false;
  private dropped = 0;
  private reported = 0;
  /** Called when everything is written, or cannot be. */
  private onFlushed: (() => void) | undefined;

  /**
   * @param limitBytes how much may wait in the buffer
   * @param onDropped called when writing works again, with the number of lines that were dropped until then
   */
  constructor(
    private readonly limitBytes: number,
    private readonly onDropped: (lines: number) => void,
    private readonly writeBytes: WriteBytes = standardOutput(),
  ) {}

  /** The number of lines that did not fit into the buffer. */
  get droppedLines(): number {
    return this.dropped;
  }

  /** @param text one line, or several that belong together, with the line end */
  write(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (this.bufferedBytes + bytes > this.limitBytes) {
      this.dropped++;
      return;
    }
    this.bufferedBytes += bytes;
    this.lines += text;
    if (!this.isWriting) this.schedule(WRITE_DELAY_MS);
  }

  /** Resolves when everything is written, at the latest after `limitMs`; at once when writing fails. */
  flush(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const limit = setTimeout(resolve, limitMs);
      this.onFlushed = () => {
        clearTimeout(limit);
        resolve();
      };
      this.writeNext();
    });
  }

  private readonly writeNext = (): void => {
    if (this.isWriting) return;
    this.isScheduled = false;
    if (this.chunk.length === 0) {
      this.chunk = Buffer.from(this.lines);
      this.lines = '';
    }
    if (this.chunk.length === 0) {
      this.onFlushed?.();
      return;
    }
    this.isWriting = true;
    this.writeBytes(this.chunk, (error, written) => {
      this.isWriting = false;
      if (error) this.retry(error);
      else this.advance(written);
    });
  };

  private advance(written: number): void {
    this.chunk = this.chunk.subarray(written);
    this.bufferedBytes -= written;
    const unreported = this.dropped - this.reported;
    if (unreported > 0 && this.bufferedBytes + REPORT_BYTES <= this.limitBytes) {
      this.reported = this.dropped;
      this.onDropped(unreported);
    }
    if (this.chunk.length > 0 || this.onFlushed) this.writeNext();
    else if (this.lines !== '') this.schedule(WRITE_DELAY_MS);
  }

  private retry({ code }: NodeJS.ErrnoException): void {
    if (code !== 'EAGAIN') this.onFlushed?.();
    this.schedule(RETRY_MS);
  }

  private schedule(delayMs: number): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    // The end of the process flushes: it need not wait for this.
    setTimeout(this.writeNext, delayMs).unref();
  }
}

/**
 * Returns the way to write to standard output that does not block. Threads are no way out where a write can
 * block without end: a thread of libuv that is stuck in it keeps the process from exiting.
 */
function standardOutput(): WriteBytes {
  const kind = fstatSync(STDOUT);
  if (kind.isFIFO() || kind.isSocket()) {
    // The callback of each write has the error too; without a listener, it would end the process.
    process.stdout.on('error', () => undefined);
    return writeToStream;
  }
  const descriptor = isatty(STDOUT) ? openTerminal() : STDOUT;
  return (bytes, done) => write(descriptor, bytes, done);
}

/** For pipes and sockets: Node makes them non-blocking, and waits for them in the event loop. */
function writeToStream(...[bytes, done]: Parameters<WriteBytes>): void {
  process.stdout.write(bytes, (error) => done(error, bytes.length));
}

/** A descriptor of its own: to make standard output's non-blocking would make it so for the shell too. */
function openTerminal(): number {
  try {
    return openSync('/dev/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return STDOUT;
  }
}
