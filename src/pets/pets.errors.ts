import type { FeatureError } from '../platform/errors/catalogue.js';
import { ServiceError } from '../platform/errors/service-error.js';

// The codes and public messages, also used by the interface description.

export const PET_NOT_FOUND = {
  code: 'pet_not_found',
  status: 404,
  when: 'No animal has this identifier.',
} as const satisfies FeatureError;

export const PET_SOLD = 'The animal is already sold.';

export function petNotFound(): ServiceError {
  return new ServiceError(PET_NOT_FOUND);
}

export function petSold(): ServiceError {
  return new ServiceError('conflict', PET_SOLD);
}
