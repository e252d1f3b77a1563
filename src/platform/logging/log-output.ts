import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { isatty } from 'node:tty';

const STDOUT = 1;
/** How long lines are collected for one write: each asynchronous write costs more than a line. */
const WRITE_DELAY_MS = 10;
/** Time until a failed write is repeated. A stopped terminal returns EAGAIN until it is resumed. */
const RETRY_MS = 100;
/** How long the exit of the process waits for a reader that does not read. */
const EXIT_WAIT_MS = 100;
const EXIT_RETRY_MS = 5;
/** The number of dropped lines is logged when this many bytes are free. Its line needs less. */
const REPORT_BYTES = 1_024;

/** Writes some of the bytes. Passes their number or the error to `done`. Never blocks. */
type WriteBytes = (
  bytes: Buffer,
  done: (error: NodeJS.ErrnoException | null | undefined, written: number) => void,
) => void;

/**
 * Writes a log to standard output without blocking the event loop. Lines that cannot be written wait
 * in a buffer, or are dropped and counted. pino's destination blocks the event loop in its
 * synchronous mode. In its asynchronous mode it does not, but its fs.write to a full pipe blocks a
 * thread of libuv, and Node waits for this thread before the process exits.
 */
export class LogOutput {
  /** Not that of a terminal: non-blocking mode on standard output would affect the shell too. */
  private readonly descriptor = isatty(STDOUT) ? openTerminal() : STDOUT;
  private readonly writeBytes = standardOutput(this.descriptor);
  /** Lines for the next write. */
  private lines = '';
  /** The unwritten bytes of the write in progress. */
  private chunk = Buffer.alloc(0);
  private bufferedBytes = 0;
  private isWriting = false;
  private isScheduled = false;
  private reportedLines = 0;
  /** The number of lines that did not fit into the buffer. */
  droppedLines = 0;
  /** Called when everything is written or a write has failed. */
  private onFlushed: (() => void) | undefined;

  /** @param onDropped called when there is space again, with the number of lines just dropped */
  constructor(
    private readonly limitBytes: number,
    private readonly onDropped: (lines: number) => void,
  ) {}

  /** @param text one line, or several that belong together, with the line end */
  write(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (this.bufferedBytes + bytes > this.limitBytes) {
      this.droppedLines++;
      return;
    }
    this.bufferedBytes += bytes;
    this.lines += text;
    if (!this.isWriting) this.schedule(WRITE_DELAY_MS);
  }

  /** Resolves when everything is written, when a write fails for good, or after `limitMs`. */
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

  /** Writes the rest when the process exits, which runs no further callbacks. */
  writeRest(): void {
    const unsent = this.isWriting ? queuedBytes() : this.chunk.length;
    let rest = Buffer.concat([
      this.chunk.subarray(this.chunk.length - unsent),
      Buffer.from(this.lines),
    ]);
    const endMs = performance.now() + EXIT_WAIT_MS;
    while (rest.length > 0 && performance.now() < endMs) {
      try {
        rest = rest.subarray(writeSync(this.descriptor, rest));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXIT_RETRY_MS);
      }
    }
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
      if (!error) {
        this.advance(written);
        return;
      }
      if (error.code !== 'EAGAIN') this.onFlushed?.();
      this.schedule(RETRY_MS);
    });
  };

  private advance(written: number): void {
    this.chunk = this.chunk.subarray(written);
    this.bufferedBytes -= written;
    const unreported = this.droppedLines - this.reportedLines;
    if (unreported > 0 && this.bufferedBytes + REPORT_BYTES <= this.limitBytes) {
      this.reportedLines = this.droppedLines;
      this.onDropped(unreported);
    }
    if (this.chunk.length > 0 || this.onFlushed) this.writeNext();
    else if (this.lines !== '') this.schedule(WRITE_DELAY_MS);
  }

  private schedule(delayMs: number): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    // The process flushes before it exits, so the timer need not keep it running.
    setTimeout(this.writeNext, delayMs).unref();
  }
}

/**
 * Returns a function that writes to standard output without blocking. For pipes it is not fs.write,
 * for the reason above.
 */
function standardOutput(descriptor: number): WriteBytes {
  const kind = fstatSync(descriptor);
  if (kind.isFIFO() || kind.isSocket()) {
    // Node makes them non-blocking and waits for them in the event loop. Without a listener, an
    // error would end the process. Each write passes it to its callback.
    process.stdout.on('error', () => undefined);
    return (bytes, done) => process.stdout.write(bytes, (error) => done(error, bytes.length));
  }
  return (bytes, done) => write(descriptor, bytes, done);
}

/**
 * Returns how many bytes of a write in progress Node still has, by an undocumented member of pipes.
 * At exit, Node waits for the writes to files and terminals, which have no queue.
 */
function queuedBytes(): number {
  const { _handle: pipe } = process.stdout as { _handle?: { writeQueueSize?: number } };
  return pipe?.writeQueueSize ?? 0;
}

function openTerminal(): number {
  try {
    return openSync('/dev/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return STDOUT;
  }
}
