import type { FeatureError } from '../platform/errors/catalogue.js';
import { ServiceError } from '../platform/errors/service-error.js';

/** The code and the public message, also used by the interface description. */
export const PET_NOT_FOUND = {
  code: 'pet_not_found',
  status: 404,
  when: 'No animal has this identifier.',
} as const satisfies FeatureError;

export function petNotFound(): ServiceError {
  return new ServiceError(PET_NOT_FOUND);
}
