import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ServiceError } from '../errors/service-error.js';
import { requestOf, responseOf, routeMetadata } from '../http/request/request-context.js';
import { ACCEPTS_KEY, receivedKeys } from './idempotency-key.js';

/** 1 to 255 visible ASCII characters. The first is not a double quote. */
const BARE = /^[!#-~][!-~]{0,254}$/;
/** An sf-string (RFC 9651, section 3.3.3) of 1 to 255 characters other than space. */
const QUOTED = /^"((?:[!#-[\]-~]|\\["\\]){1,255})"$/;
const MALFORMED =
  'Idempotency-Key must be 1 to 255 visible ASCII characters, bare or as a quoted string, and must be sent only once.';

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
    if (text === undefined) throw new ServiceError('invalid_request', MALFORMED);
    const response = responseOf(context);
    const announceReplay = (): void => {
      if (!response.headersSent) response.setHeader('Idempotent-Replayed', 'true');
    };
    receivedKeys.set(request, { toString: () => text, announceReplay });
    return true;
  }
}
