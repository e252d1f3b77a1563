import type { IncomingHttpHeaders } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ServiceError } from '../errors/service-error.js';
import { requestOf } from '../http/request/request-context.js';
import { RouteMetadata } from '../http/request/route-metadata.js';
import { ACCEPTS_KEY } from './idempotency-key.decorator.js';

/** 1 to 255 visible ASCII characters. The first is not a double quote. */
const BARE = /^[!#-~][!-~]{0,254}$/;
/** An sf-string (RFC 9651, section 3.3.3) of 1 to 255 characters other than space. */
const QUOTED = /^"((?:[!#-[\]-~]|\\["\\]){1,255})"$/;

/**
 * Rejects a malformed `Idempotency-Key` before the body is read. Handlers without
 * `@IdempotencyKey()` ignore the header.
 */
@Injectable()
export class IdempotencyKeyGuard implements CanActivate {
  constructor(private readonly metadata: RouteMetadata) {}

  /** @throws ServiceError invalid_request */
  canActivate(context: ExecutionContext): boolean {
    if (!this.metadata.of(context, ACCEPTS_KEY)) return true;
    const request = requestOf(context);
    request.idempotencyKey = readIdempotencyKey(request.headers);
    return true;
  }
}

/**
 * Returns the `Idempotency-Key` of a request, undefined if it has none. The bare form and the
 * quoted form of a value are the same key. If the header is sent twice, Node joins the values with a
 * comma and a space, which is malformed.
 *
 * @throws ServiceError invalid_request if the header is malformed
 */
function readIdempotencyKey(headers: IncomingHttpHeaders): string | undefined {
  const header = headers['idempotency-key'];
  if (header === undefined) return undefined;
  const text = String(header);
  const key = BARE.test(text) ? text : QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  if (key === undefined) {
    throw new ServiceError(
      'invalid_request',
      'Idempotency-Key must be 1 to 255 visible ASCII characters, bare or as a quoted string, and must be sent only once.',
    );
  }
  return key;
}
