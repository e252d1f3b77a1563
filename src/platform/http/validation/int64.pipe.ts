import type { PipeTransform } from '@nestjs/common';
import { parseInt64 } from './int64.js';

/** Parses an id in a path. Text that is not a canonical int64 identifies nothing. */
export class Int64Pipe implements PipeTransform<unknown, bigint> {
  /** @param notFound creates the 404 */
  constructor(private readonly notFound: () => Error) {}

  /** @throws the 404 */
  transform(text: unknown): bigint {
    const id = typeof text === 'string' ? parseInt64(text) : undefined;
    if (id === undefined) throw this.notFound();
    return id;
  }
}
