import { ServiceError } from '../errors/service-error.js';

/** The field of the request, as Node names it. */
const FIELD = 'idempotency-key';

/** Visible ASCII that does not begin as a quoted string does. */
const BARE = /^[!#-~][!-~]{0,254}$/;
/** An sf-string (RFC 9651, 3.3.3) of 1 to 255 characters, without the space that it allows. */
const QUOTED = /^"((?:[!#-[\]-~]|\\["\\]){1,255})"$/;

/**
 * Returns the idempotency key that a request was sent with, undefined when it has none. Bare and as a
 * quoted string it is the same key.
 *
 * @param headers as Node hands them over: fields sent twice are joined, by a comma and a space
 * @throws ServiceError invalid_request when it does not have the form of a key
 */
export function readIdempotencyKey(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): string | undefined {
  const field = headers[FIELD];
  if (field === undefined) return undefined;
  const text = String(field);
  const key = BARE.test(text) ? text : QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  if (key === undefined) {
    throw new ServiceError(
      'invalid_request',
      'Idempotency-Key must be 1 to 255 visible ASCII characters, bare or as a quoted string, and be sent once.',
    );
  }
  return key;
}
