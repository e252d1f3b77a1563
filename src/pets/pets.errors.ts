import { type FeatureError, ServiceError } from '#platform';

/** The code and the public message, also used by the OpenAPI description. */
export const PET_NOT_FOUND = {
  code: 'pet_not_found',
  status: 404,
  when: 'No animal has this identifier.',
} as const satisfies FeatureError;

export function petNotFound(): ServiceError {
  return new ServiceError(PET_NOT_FOUND);
}
