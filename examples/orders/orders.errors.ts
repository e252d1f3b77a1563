import { ServiceError } from '#platform';

// The public messages, also used by the OpenAPI description.
export const ORDER_NOT_FOUND = 'You have no order with this identifier.';
export const PET_SOLD = 'The animal is already sold.';

export function orderNotFound(): ServiceError {
  return new ServiceError('not_found', ORDER_NOT_FOUND);
}

export function petSold(): ServiceError {
  return new ServiceError('conflict', PET_SOLD);
}
