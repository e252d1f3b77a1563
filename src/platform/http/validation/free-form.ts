import { ServiceError } from '../../errors/service-error.js';
import { isDto } from './dto-rules.js';

const RANGE = `from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`;

/**
 * Rejects integers that a double cannot hold in the objects and arrays of a DTO that no DTO class
 * describes. They would be bigints, which JSON.stringify rejects.
 *
 * @throws ServiceError invalid_request that names the first one
 */
export function rejectLargeIntegers(value: unknown, path = ''): void {
  if (typeof value !== 'object' || value === null) return;
  const hasRules = isDto(value.constructor);
  if (!hasRules && !Array.isArray(value) && value.constructor !== Object) return;
  for (const [name, member] of Object.entries(value)) {
    const place = path ? `${path}.${name}` : name;
    if (typeof member === 'bigint' && !hasRules && !Number.isSafeInteger(Number(member))) {
      throw new ServiceError('invalid_request', `${place} must be an integer ${RANGE}.`);
    }
    rejectLargeIntegers(member, place);
  }
}
