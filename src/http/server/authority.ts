import { isIPv6 } from 'node:net';

/**
 * `uri-host [ ":" port ]` of RFC 3986, section 3.2: a registered name (which includes IPv4 addresses and may be
 * empty), or an address in brackets. At each position only one alternative can match, so it takes linear time.
 */
const AUTHORITY =
  /^(?:\[(?:([\d:.a-f]+)|v[\da-f]+\.[-\w.~!$&'()*+,;=:]+)\]|(?:[-\w.~!$&'()*+,;=]|%[\da-f]{2})*)(?::\d*)?$/i;

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)/i;

/** Returns whether the value of a Host header is valid (RFC 9112, section 3.2). It can be empty. */
export function isValidHost(value: string): boolean {
  const match = AUTHORITY.exec(value);
  return match !== null && (match[1] === undefined || isIPv6(match[1]));
}

/**
 * Returns whether a request target has a valid authority or none. That of an absolute-form target needs a host
 * and must not contain user information (RFC 9110, sections 4.2.1 and 4.2.4).
 */
export function hasValidAuthority(target: string): boolean {
  if (target.startsWith('/')) return true;
  const authority = ABSOLUTE_FORM.exec(target)?.[1];
  return authority === undefined || (/^[^:]/.test(authority) && isValidHost(authority));
}
