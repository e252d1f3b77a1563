import { Injectable } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import {
  payloadTooLarge,
  type ServiceError,
  serviceOverloaded,
} from '../../errors/service-error.js';
import type { Request } from '../request/request.js';

/** The minimum memory of a request that waits for its body: its head and its objects. */
const MIN_BYTES = 24 * 1_024;
/** Uploads of the maximum size that have room at the same time. */
const LARGEST_UPLOADS = 8;

/** A request that waits for its body. */
interface ArrivingBody {
  /** At least 24 KB. */
  bytes: number;
  /** Ends the request. Its connection closes after the response. */
  readonly reject: (error: ServiceError) => void;
}

/**
 * Bounds the requests that wait for their bodies, by the memory that they take. When room is needed,
 * the one that has waited longest is rejected. A body that arrives with its head does not wait.
 */
@Injectable()
export class ArrivingBodies {
  /** The bytes that these requests hold. */
  bytes = 0;
  /** The number of requests that were rejected to make room. */
  rejected = 0;
  private uploadBytes = 0;
  private readonly maxUploadBytes: number;
  private readonly maxBytes: number;
  /** Longest waiting first. */
  private readonly waiting = new Set<ArrivingBody>();

  constructor({ bounds }: Settings) {
    this.maxBytes = bounds.maxArrivingBytes;
    this.maxUploadBytes = bounds.maxUploadBytes;
  }

  /** Counts a request that waits for its body, until `remove`. */
  add(reject: ArrivingBody['reject']): ArrivingBody {
    const body = { bytes: 0, reject };
    this.waiting.add(body);
    this.resize(body, MIN_BYTES);
    return body;
  }

  /** Counts the bytes of a body that have arrived. Rejects the longest waiting ones over a bound. */
  resize(body: ArrivingBody, bytes: number): void {
    if (bytes <= body.bytes || !this.waiting.has(body)) return;
    this.bytes += bytes - body.bytes;
    body.bytes = bytes;
    while (this.bytes > this.maxBytes) this.rejectOldest();
  }

  /** Rejects the request that has waited longest. Returns false if none waits. */
  rejectOldest(): boolean {
    const [oldest] = this.waiting;
    if (!oldest) return false;
    this.rejected++;
    this.remove(oldest);
    oldest.reject(serviceOverloaded('limit reached: arriving_bodies'));
    return true;
  }

  /** Counts a request no longer. */
  remove(body: ArrivingBody): void {
    if (this.waiting.delete(body)) this.bytes -= body.bytes;
  }

  /**
   * Reserves the memory of a large body or of one that its route reads, until the response ends.
   *
   * @throws ServiceError payload_too_large, or service_unavailable if it does not fit at present
   */
  reserve(request: Request, bytes: number, maxBytes = this.maxUploadBytes): void {
    if (bytes > maxBytes) throw payloadTooLarge(maxBytes);
    if (this.uploadBytes + bytes > this.maxUploadBytes * LARGEST_UPLOADS) {
      this.rejected++;
      throw serviceOverloaded('limit reached: arriving_bodies');
    }
    this.uploadBytes += bytes;
    request.res?.once('close', () => (this.uploadBytes -= bytes));
  }
}
