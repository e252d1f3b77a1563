import { promisify } from 'node:util';
import { brotliDecompress, gunzip } from 'node:zlib';
import { ServiceError } from '../../errors/service-error.js';

/** The content codings (RFC 9110, 8.4.1) that a request body may have. */
export type ContentCoding = 'gzip' | 'br';

const DECODE = {
  gzip: promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip),
  br: promisify<Buffer, { maxOutputLength: number }, Buffer>(brotliDecompress),
};

/**
 * The default of common encoders: a 4 MiB window. The decoder allocates and fills the whole window before the
 * first byte of output can be checked against the limit, so a larger one costs too much.
 */
const MAX_BROTLI_WINDOW_BITS = 22;

interface Job {
  start(): void;
}

/**
 * Decompresses request bodies, a few at a time: a small body can make the decoder use megabytes and
 * milliseconds. Callers take turns, so a caller that sends many waits for itself and not for others.
 */
export class Decompression {
  private running = 0;
  private readonly waiting = new Map<string, Job[]>();

  /**
   * @param maxRunning how many bodies are decompressed at the same time
   * @param maxOutputBytes the largest decoded body, in bytes
   */
  constructor(
    private readonly maxRunning: number,
    private readonly maxOutputBytes: number,
  ) {}

  /**
   * Returns the decoded body.
   *
   * @param callerId identifies the caller whose turn it is
   * @throws ServiceError malformed_json when the bytes cannot be decoded, payload_too_large when they decode to
   *   more than the limit
   */
  async decompress(coding: ContentCoding, bytes: Buffer, callerId: string): Promise<Buffer> {
    if (coding === 'br' && brotliWindowBits(bytes) > MAX_BROTLI_WINDOW_BITS) {
      throw notDecodable(`: its Brotli window is larger than ${MAX_BROTLI_WINDOW_BITS} bits`);
    }
    await this.turnOf(callerId);
    try {
      return await DECODE[coding](bytes, { maxOutputLength: this.maxOutputBytes });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
        throw tooLarge(this.maxOutputBytes);
      }
      throw notDecodable('', error);
    } finally {
      this.running--;
      this.startNext();
    }
  }

  private turnOf(callerId: string): Promise<void> {
    return new Promise((resolve) => {
      const jobs = this.waiting.get(callerId) ?? [];
      jobs.push({ start: resolve });
      this.waiting.set(callerId, jobs);
      this.startNext();
    });
  }

  private startNext(): void {
    if (this.running >= this.maxRunning) return;
    for (const [callerId, jobs] of this.waiting) {
      const job = jobs.shift();
      // The caller goes to the end of the line.
      this.waiting.delete(callerId);
      if (jobs.length > 0) this.waiting.set(callerId, jobs);
      this.running++;
      job?.start();
      return;
    }
  }
}

/** Returns the 413 for a body over the limit. @param maxBytes the limit */
export function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The request body must not be larger than ${maxBytes} bytes.`,
  );
}

/** Reads the window size from the first byte of a Brotli stream (RFC 7932, 9.1). Returns the number of bits. */
function brotliWindowBits([first = 0]: Buffer): number {
  if ((first & 1) === 0) return 16;
  const high = (first >> 1) & 7;
  if (high !== 0) return 17 + high;
  const low = (first >> 4) & 7;
  return low === 0 ? 17 : 8 + low;
}

/** @param reason what follows the statement, if the caller can do something about it */
function notDecodable(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('malformed_json', `The request body cannot be decompressed${reason}.`, {
    cause,
  });
}
