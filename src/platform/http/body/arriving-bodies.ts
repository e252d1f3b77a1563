import { Injectable } from '@nestjs/common';
import { MAX_BODY_BYTES } from '../../config/bounds.js';
import { Settings } from '../../config/settings.js';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError, serviceOverloaded } from '../../errors/service-error.js';

/** A few callers that send slowly leave room for the others. */
const SHARE_OF_A_CALLER = 1 / 32;

/** Uploads of the maximum size that have room at the same time. */
const LARGEST_UPLOADS = 8;

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
  private uploadBytes = 0;
  private readonly maxUploadBytes: number;
  private readonly maxBytes: number;
  private readonly maxBytesOfCaller: number;
  private readonly bytesByCaller = new Map<string, number>();

  constructor({ bounds }: Settings) {
    this.maxBytes = bounds.maxArrivingBytes;
    this.maxUploadBytes = bounds.maxUploadBytes;
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

  /**
   * Reserves the memory of an upload. Returns a function that releases it.
   *
   * @throws ServiceError payload_too_large, or service_unavailable if it does not fit at present
   */
  holdUpload(bytes: number): () => void {
    if (bytes > this.maxUploadBytes) {
      const message = PUBLIC_MESSAGES.payloadTooLarge(this.maxUploadBytes);
      throw new ServiceError('payload_too_large', message);
    }
    if (this.uploadBytes + bytes > this.maxUploadBytes * LARGEST_UPLOADS) {
      this.rejected++;
      throw serviceOverloaded('limit reached: arriving_bodies');
    }
    this.uploadBytes += bytes;
    return () => (this.uploadBytes -= bytes);
  }

  /** Counts the bytes of a body no longer. */
  release(callerId: string, bytes: number): void {
    const ofCaller = (this.bytesByCaller.get(callerId) ?? 0) - bytes;
    this.bytes -= bytes;
    if (ofCaller > 0) this.bytesByCaller.set(callerId, ofCaller);
    else this.bytesByCaller.delete(callerId);
  }
}
