import { isIPv6 } from 'node:net';
import type { Request } from '../request/request.js';

/** A path that matches no route. The catch-all then handles targets that cannot be routed. */
const UNROUTABLE = '/.unroutable';

/** Visible ASCII without `#`: the characters that RFC 9112 allows in a path and query. */
const ORIGIN_FORM = /^\/[!"$-~]*$/;

/**
 * Sets the URL that the router reads, and keeps the request target as `originalUrl`. Call it before
 * Express handles the request: Express responds with HTML to a URL that it cannot parse, before the
 * first middleware.
 */
export function makeRoutable(request: Request): void {
  request.originalUrl = request.url;
  request.url = routableUrl(request.url);
}

/**
 * Returns the path and query of a request target in origin form or absolute form (RFC 9112, section
 * 3.2), otherwise a path that matches no route. For a path that cannot be decoded, the router
 * would send a response of its own, without guards and rate limit headers.
 */
function routableUrl(target: string): string {
  const url = target.startsWith('/') ? target : pathOfAbsoluteForm(target);
  if (!ORIGIN_FORM.test(url)) return UNROUTABLE;
  return url.includes('%') && !decodes(url) ? UNROUTABLE : url;
}

function pathOfAbsoluteForm(target: string): string {
  const match = /^https?:\/\/[^/?#]+(\/[^#]*)?$/i.exec(target);
  return match ? (match[1] ?? '/') : UNROUTABLE;
}

function decodes(url: string): boolean {
  const query = url.indexOf('?');
  try {
    decodeURIComponent(query < 0 ? url : url.slice(0, query));
    return true;
  } catch {
    return false;
  }
}

/**
 * `uri-host [ ":" port ]` of RFC 3986, section 3.2: a registered name, which includes IPv4
 * addresses and may be empty, or an address in brackets. Only one alternative can match at each
 * position, so that matching takes linear time.
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
 * Returns whether a request target has a valid authority or none. In absolute form the authority
 * needs a host and must not contain user information (RFC 9110, sections 4.2.1 and 4.2.4).
 */
export function hasValidAuthority(target: string): boolean {
  if (target.startsWith('/')) return true;
  const authority = ABSOLUTE_FORM.exec(target)?.[1];
  return authority === undefined || (/^[^:]/.test(authority) && isValidHost(authority));
}
