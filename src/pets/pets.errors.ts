import { ServiceError } from '../platform/errors/service-error.js';

/** The public messages, also used by the interface description. */
export const PET_NOT_FOUND = 'No animal has this identifier.';
export const PET_SOLD = 'The animal is already sold.';

export function petNotFound(): ServiceError {
  return new ServiceError('pet_not_found', PET_NOT_FOUND);
}

export function petSold(): ServiceError {
  return new ServiceError('conflict', PET_SOLD);
}
