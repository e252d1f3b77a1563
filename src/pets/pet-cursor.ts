import { ServiceError } from '../errors/service-error.js';
import { parseInt64 } from '../http/validation/int64.js';
import type { PetStatus } from './pet-status.js';

/** Returns the cursor of the page that follows an animal, bound to the status the list is filtered by. */
export function petCursor(lastId: bigint, status: PetStatus | undefined): string {
  return Buffer.from(`${lastId}:${status ?? ''}`).toString('base64url');
}

/**
 * Returns the id after which a page begins.
 *
 * @throws ServiceError invalid_cursor when it does not read as a cursor or is of another status
 */
export function readPetCursor(cursor: unknown, status: PetStatus | undefined): bigint {
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : '';
  const lastId = parseInt64(text.slice(0, Math.max(0, text.indexOf(':'))));
  // Written again, it has to be the same: that covers the status and every other spelling.
  if (lastId === undefined || petCursor(lastId, status) !== cursor) {
    throw new ServiceError(
      'invalid_cursor',
      'cursor must be taken from the Link of a page with the same status.',
    );
  }
  return lastId;
}
