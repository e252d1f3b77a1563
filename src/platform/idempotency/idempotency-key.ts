import {
  applyDecorators,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  SetMetadata,
} from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { ServiceError } from '../errors/service-error.js';
import { REQUEST_HEADERS } from '../http/request/headers.js';
import { requestOf, responseOf, routeMetadata } from '../http/request/request-context.js';
import type { Response } from '../http/request/request.js';

/** The key of a request. `Idempotency.once` announces with it that the response is a replay. */
export class ReceivedKey {
  constructor(
    private readonly text: string,
    private readonly response: Response,
  ) {}

  announceReplay(): void {
    if (!this.response.headersSent) this.response.setHeader('Idempotent-Replayed', 'true');
  }

  toString(): string {
    return this.text;
  }
}

export type IdempotencyKey = ReceivedKey;

/** The metadata key of handlers with a parameter `@IdempotencyKey()`. */
const ACCEPTS_KEY = 'accepts-idempotency-key';

const accept = applyDecorators(
  SetMetadata(ACCEPTS_KEY, true),
  ApiHeader(REQUEST_HEADERS.idempotencyKey),
);

/**
 * Passes the `Idempotency-Key` to a handler, undefined without the header, and describes the header
 * in the interface description. With a key, the handler returns the result of `Idempotency.once`.
 */
export const IdempotencyKey = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => requestOf(context).idempotencyKey,
  [
    (controller, name = '') =>
      accept(controller, name, Object.getOwnPropertyDescriptor(controller, name)),
  ],
);

/** 1 to 255 visible ASCII characters. The first is not a double quote. */
const BARE = /^[!#-~][!-~]{0,254}$/;
/** An sf-string (RFC 9651, section 3.3.3) of 1 to 255 characters other than space. */
const QUOTED = /^"((?:[!#-[\]-~]|\\["\\]){1,255})"$/;

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
    if (header === undefined || !routeMetadata(context, ACCEPTS_KEY)) return true;
    const text = BARE.test(header) ? header : QUOTED.exec(header)?.[1]?.replace(/\\(.)/g, '$1');
    if (text !== undefined) {
      request.idempotencyKey = new ReceivedKey(text, responseOf(context));
      return true;
    }
    const message =
      'Idempotency-Key must be 1 to 255 visible ASCII characters, bare or as a quoted string, and must be sent only once.';
    throw new ServiceError('invalid_request', message);
  }
}
