import type { Request } from '../request/request.js';

/** A path that nothing serves, so that the catch-all answers for what cannot be routed. */
const UNROUTABLE = '/.unroutable';

/** Visible ASCII without `#`: what RFC 9112 allows in a request target's path and query. */
const ORIGIN_FORM = /^\/[!"$-~]*$/;

/**
 * Sets the URL that the router reads, and keeps the request target as `originalUrl`. To be called before Express handles
 * the request: Express itself responds to a URL that it cannot parse, with HTML, before the first middleware.
 */
export function makeRoutable(request: Request): void {
  request.originalUrl = request.url;
  request.url = routableUrl(request.url);
}

/**
 * Takes a request target (RFC 9112, 3.2) and returns the one to route by: the path and query of an
 * origin-form or absolute-form target, else a path that nothing serves. A path that does not decode
 * would make the router answer for itself, without guards and limit headers.
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
