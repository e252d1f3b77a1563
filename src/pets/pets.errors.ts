import { ServiceError } from '../errors/service-error.js';

/** The public message, also used by the interface description. */
export const PET_NOT_FOUND = 'No animal has this identifier.';

export function petNotFound(): ServiceError {
  return new ServiceError('pet_not_found', PET_NOT_FOUND);
}
