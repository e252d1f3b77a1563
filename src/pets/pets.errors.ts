import { ServiceError } from '../errors/service-error.js';

/** The public messages, also used by the interface description. */
export const PET_NOT_FOUND = 'No animal has this identifier.';
export const INVALID_CURSOR =
  'The cursor is malformed or belongs to a list with different filters.';

export function petNotFound(): ServiceError {
  return new ServiceError('pet_not_found', PET_NOT_FOUND);
}

export function invalidCursor(): ServiceError {
  return new ServiceError('invalid_cursor', INVALID_CURSOR);
}
