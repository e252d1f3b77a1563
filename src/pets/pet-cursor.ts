import { parseInt64 } from '../http/validation/int64.js';
import type { PetStatus } from './pet-status.js';
import { invalidCursor } from './pets.errors.js';

/** Returns the cursor of the page after an animal. It is bound to the status filter of the list. */
export function petCursor(lastId: bigint, status: PetStatus | undefined): string {
  return Buffer.from(`${lastId}:${status ?? ''}`).toString('base64url');
}

/**
 * Returns the id of the last animal before the page.
 *
 * @throws ServiceError invalid_cursor if the cursor is malformed or was made for another status
 */
export function parsePetCursor(cursor: unknown, status: PetStatus | undefined): bigint {
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : '';
  const lastId = parseInt64(text.slice(0, Math.max(0, text.indexOf(':'))));
  // Encoding the id again must give the same text. This checks the status and the notation.
  if (lastId === undefined || petCursor(lastId, status) !== cursor) {
    throw invalidCursor();
  }
  return lastId;
}
