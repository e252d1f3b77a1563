import { Injectable } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import { serviceOverloaded } from '../../errors/service-error.js';

/** One caller that sends slowly leaves the rest to the others. */
const SHARE_OF_A_CALLER = 1 / 4;

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
  private readonly bytesByCaller = new Map<string, number>();

  constructor({ bounds }: Settings) {
    this.maxBytes = bounds.maxArrivingBytes;
  }

  /**
   * Counts a request and its bytes until `receive` has ended.
   *
   * @param receive calls `hold` with the length of each chunk. `hold` throws the 503 of a body that
   *   does not fit
   */
  async during<Result>(
    callerId: string,
    receive: (hold: (bytes: number) => void) => Promise<Result>,
  ): Promise<Result> {
    let held = 0;
    this.count++;
    try {
      return await receive((bytes) => {
        if (!this.fits(callerId, bytes)) {
          this.rejected++;
          throw serviceOverloaded('limit reached: arriving_bodies');
        }
        held += bytes;
        this.add(callerId, bytes);
      });
    } finally {
      this.count--;
      this.add(callerId, -held);
    }
  }

  private fits(callerId: string, bytes: number): boolean {
    const ofCaller = (this.bytesByCaller.get(callerId) ?? 0) + bytes;
    return this.bytes + bytes <= this.maxBytes && ofCaller <= this.maxBytes * SHARE_OF_A_CALLER;
  }

  private add(callerId: string, bytes: number): void {
    const ofCaller = (this.bytesByCaller.get(callerId) ?? 0) + bytes;
    this.bytes += bytes;
    if (ofCaller > 0) this.bytesByCaller.set(callerId, ofCaller);
    else this.bytesByCaller.delete(callerId);
  }
}
