import { ServiceError } from '../platform/errors/service-error.js';

/** The public message, also used by the interface description. */
export const ORDER_NOT_FOUND = 'You have no order with this identifier.';

export function orderNotFound(): ServiceError {
  return new ServiceError('not_found', ORDER_NOT_FOUND);
}
