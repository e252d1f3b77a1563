import { applyDecorators, createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { ServiceError } from '../../errors/service-error.js';
import { requestOf, type Request } from '../request/request.js';
import { entityTag } from './entity-tag.js';
import { jsonText } from './json-text.js';

/** `*`, or entity tags separated by commas (RFC 9110, sections 8.8.3 and 13.1.1). */
const VALUE = /^(?:\*|[\t ,]*(?:(?:W\/)?"[!#-~\x80-\xff]*"(?:[\t ]*,[\t ,]*|$))+)$/;
/** The group matches a strong tag. */
const TAG = /W\/"[^"]*"|("[^"]*")/g;
const MALFORMED =
  'If-Match must be * or a list of ETags, each in double quotes as the service sent it.';

/** The condition of a request that changes something. */
export interface IfMatch {
  /**
   * Call it in the transaction of the change, after the row is locked.
   *
   * @param current what the handler of the GET returns
   * @throws ServiceError precondition_failed if `If-Match` does not list the `ETag` of that GET
   */
  check(current: object): void;
}

/** Returns the condition of a request, undefined without one. @throws ServiceError invalid_request */
function ifMatchOf({ headers }: Request): IfMatch | undefined {
  const header = headers['if-match'];
  if (header === undefined) return undefined;
  if (!VALUE.test(header)) throw new ServiceError('invalid_request', MALFORMED);
  // By strong comparison: a weak tag matches nothing.
  const tags = Array.from(header.matchAll(TAG), ([, strong]) => strong);
  const matches = (tag: string): boolean => header === '*' || tags.includes(tag);
  return {
    check: (current) => {
      if (!matches(entityTag(jsonText(current)))) throw new ServiceError('precondition_failed');
    },
  };
}

const describeHeader = applyDecorators(
  ApiHeader({
    name: 'If-Match',
    required: false,
    description:
      'The `ETag` of the get, several of them, or `*`. If none is the current one, nothing changes.',
  }),
);

/**
 * Passes the `If-Match` of a request to a handler, undefined without the header, and describes the
 * header in the OpenAPI description. The service calls `check`. A malformed header gets 400. Other
 * routes ignore the header.
 */
export const IfMatch = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => ifMatchOf(requestOf(context)),
  [
    (controller, name = '') =>
      describeHeader(controller, name, Object.getOwnPropertyDescriptor(controller, name)),
  ],
);
