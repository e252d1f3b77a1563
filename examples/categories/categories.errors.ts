import { type FeatureError, ServiceError } from '#platform';

/** The public messages, also used by the OpenAPI description. */
export const CATEGORY_NOT_FOUND = 'No category has this identifier.';
export const CATEGORY_NAME_TAKEN = 'A category with this name already exists.';
export const IF_MATCH_REQUIRED = {
  code: 'precondition_required',
  status: 428,
  when: 'Send the ETag of the category as If-Match.',
} as const satisfies FeatureError;

export function categoryNotFound(): ServiceError {
  return new ServiceError('not_found', CATEGORY_NOT_FOUND);
}

export function categoryNameTaken(): ServiceError {
  return new ServiceError('conflict', CATEGORY_NAME_TAKEN);
}
