import { Injectable } from '@nestjs/common';
import { MAX_BODY_BYTES } from '../../config/bounds.js';
import { Settings } from '../../config/settings.js';
import { serviceOverloaded } from '../../errors/service-error.js';

/** A few callers that send slowly leave room for the others. */
const SHARE_OF_A_CALLER = 1 / 32;

/**
 * Bounds the bytes of all request bodies that have arrived in part. A body that arrives together
 * with its head is complete, so it is not counted and never rejected.
 */
@Injectable()
export class ArrivingBodies {
  /** The number of requests that wait for their body. */
  count = 0;
  /** The bytes that have arrived of these bodies. */
  bytes = 0;
  /** The number of bodies that were rejected because they did not fit. */
  rejected = 0;
  private readonly maxBytes: number;
  private readonly maxBytesOfCaller: number;
  private readonly bytesByCaller = new Map<string, number>();

  constructor({ bounds }: Settings) {
    this.maxBytes = bounds.maxArrivingBytes;
    this.maxBytesOfCaller = Math.max(MAX_BODY_BYTES, this.maxBytes * SHARE_OF_A_CALLER);
  }

  /**
   * Counts more bytes of a body. Release them when the body is complete or rejected.
   *
   * @throws ServiceError service_unavailable if they do not fit
   */
  hold(callerId: string, bytes: number): void {
    const ofCaller = (this.bytesByCaller.get(callerId) ?? 0) + bytes;
    if (this.bytes + bytes > this.maxBytes || ofCaller > this.maxBytesOfCaller) {
      this.rejected++;
      throw serviceOverloaded('limit reached: arriving_bodies');
    }
    this.bytes += bytes;
    this.bytesByCaller.set(callerId, ofCaller);
  }

  /** Counts the bytes of a body no longer. */
  release(callerId: string, bytes: number): void {
    const ofCaller = (this.bytesByCaller.get(callerId) ?? 0) - bytes;
    this.bytes -= bytes;
    if (ofCaller > 0) this.bytesByCaller.set(callerId, ofCaller);
    else this.bytesByCaller.delete(callerId);
  }
}
