import {
  applyDecorators,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
} from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { ServiceError } from '../errors/service-error.js';
import { REQUEST_HEADERS } from '../http/request/headers.js';
import { routeParameters } from '../http/request/handler.js';
import { requestOf, responseOf } from '../http/request/request.js';

/** 1 to 255 visible ASCII characters. The first is not a double quote. */
const BARE = /^[!#-~][!-~]{0,254}$/;
/** An sf-string (RFC 9651, section 3.3.3) of 1 to 255 characters other than space. */
const QUOTED = /^"((?:[!#-[\]-~]|\\["\\]){1,255})"$/;
const MALFORMED =
  'Idempotency-Key must be 1 to 255 visible ASCII characters, bare or as a quoted string, and must be sent only once.';

/** The key of a request. `Idempotency.once` announces with it that the response is a replay. */
export interface IdempotencyKey {
  toString(): string;
  announceReplay(): void;
}

const describeHeader = applyDecorators(ApiHeader(REQUEST_HEADERS.idempotencyKey));

function keyOf(_data: unknown, context: ExecutionContext): IdempotencyKey | undefined {
  const { idempotencyKey } = requestOf(context).state;
  if (idempotencyKey === undefined) return undefined;
  const response = responseOf(context);
  return {
    toString: () => idempotencyKey,
    announceReplay: () => {
      if (!response.headersSent) response.setHeader('Idempotent-Replayed', 'true');
    },
  };
}

/**
 * Passes the `Idempotency-Key` to a handler, undefined without the header, and describes the header
 * in the OpenAPI description. With a key, the handler returns the result of `Idempotency.once`.
 */
export const IdempotencyKey = createParamDecorator(keyOf, [
  (controller, name = '') =>
    describeHeader(controller, name, Object.getOwnPropertyDescriptor(controller, name)),
]);

/**
 * Rejects a malformed `Idempotency-Key` before the body is read. The bare form and the quoted form of
 * a value are the same key. Handlers without `@IdempotencyKey()` ignore the header.
 */
@Injectable()
export class IdempotencyKeyGuard implements CanActivate {
  /** @throws ServiceError invalid_request */
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    // If the header is sent twice, Node joins the values with a comma and a space: malformed.
    const header = request.headers['idempotency-key']?.toString();
    if (header === undefined) return true;
    if (!routeParameters(context).some(({ factory }) => factory === keyOf)) return true;
    const text = BARE.test(header) ? header : QUOTED.exec(header)?.[1]?.replace(/\\(.)/g, '$1');
    if (text === undefined) throw new ServiceError('invalid_request', MALFORMED);
    request.state.idempotencyKey = text;
    return true;
  }
}
