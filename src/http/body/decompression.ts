import { promisify } from 'node:util';
import { brotliDecompress, gunzip } from 'node:zlib';
import { MAX_BODY_BYTES, PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError } from '../../errors/service-error.js';
import { malformedJson } from './parse-json.js';

/** The supported content codings of request bodies (RFC 9110, section 8.4.1). */
export type ContentCoding = 'gzip' | 'br';

const DECODE = {
  gzip: promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip),
  br: promisify<Buffer, { maxOutputLength: number }, Buffer>(brotliDecompress),
};

/** The default of common encoders, 4 MiB. The decoder fills the window before it returns output. */
const MAX_BROTLI_WINDOW_BITS = 22;

/**
 * Decompresses a few request bodies at a time, because a small body can cost megabytes and
 * milliseconds. Waiting callers are served round-robin, so that one caller cannot block the others.
 */
export class Decompression {
  private running = 0;
  private readonly waiting = new Map<string, (() => void)[]>();

  /** @param maxRunning how many bodies are decompressed at the same time */
  constructor(private readonly maxRunning: number) {}

  /** Returns the decoded body. @throws ServiceError malformed_json or payload_too_large */
  async decompress(coding: ContentCoding, bytes: Buffer, callerId: string): Promise<Buffer> {
    if (coding === 'br' && brotliWindowBits(bytes) > MAX_BROTLI_WINDOW_BITS) {
      throw malformedJson(
        `cannot be decompressed, because its Brotli window is larger than ${MAX_BROTLI_WINDOW_BITS} bits`,
      );
    }
    await this.nextFreeSlot(callerId);
    try {
      return await DECODE[coding](bytes, { maxOutputLength: MAX_BODY_BYTES });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ERR_BUFFER_TOO_LARGE') throw payloadTooLarge();
      throw malformedJson('cannot be decompressed', error);
    } finally {
      this.running--;
      this.startNext();
    }
  }

  private nextFreeSlot(callerId: string): Promise<void> {
    return new Promise((resolve) => {
      const starts = this.waiting.get(callerId) ?? [];
      starts.push(resolve);
      this.waiting.set(callerId, starts);
      this.startNext();
    });
  }

  private startNext(): void {
    const [next] = this.waiting;
    if (!next || this.running >= this.maxRunning) return;
    const [callerId, starts] = next;
    const start = starts.shift();
    // Moves the caller to the end of the queue.
    this.waiting.delete(callerId);
    if (starts.length > 0) this.waiting.set(callerId, starts);
    this.running++;
    start?.();
  }
}

/** Returns the 413 for a body over MAX_BODY_BYTES. */
export function payloadTooLarge(): ServiceError {
  return new ServiceError('payload_too_large', PUBLIC_MESSAGES.payloadTooLarge);
}

/** Returns the window size in bits of a Brotli stream (RFC 7932, section 9.1). */
function brotliWindowBits([first = 0]: Buffer): number {
  if ((first & 1) === 0) return 16;
  const high = (first >> 1) & 7;
  if (high !== 0) return 17 + high;
  const low = (first >> 4) & 7;
  return low === 0 ? 17 : 8 + low;
}
