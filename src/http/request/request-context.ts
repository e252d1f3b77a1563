import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import type { NextFunction, Request, Response } from './request.js';

const REQUEST_ID = /^[A-Za-z0-9_-]{1,128}$/;
/** W3C Trace Context, `traceparent`: version, trace-id, parent-id, flags; later versions may go on. */
const TRACE_PARENT =
  /^(?:00(?=.{53}$)|(?!00|ff)[0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/;

/** First step of every request: sets its id and the headers of every response. */
export function requestContext(request: Request, response: Response, next: NextFunction): void {
  request.receivedAt = performance.now();
  request.bodyTookMs = 0;
  request.id = requestId(request.headers['x-request-id']);
  request.traceId = traceId(request.headers['traceparent']);
  // Read first: after a disconnect, a socket no longer knows it.
  request.clientAddress = clientAddress(request);
  response.setHeader('X-Request-Id', request.id);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  next();
}

/** Returns the caller's id where it is well-formed, else a new one. */
export function requestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && REQUEST_ID.test(header) ? header : randomUUID();
}

function traceId(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? TRACE_PARENT.exec(header)?.[1] : undefined;
}

/**
 * Returns the address of the client, from `X-Forwarded-For` as far as `TRUST_PROXY` allows. A forwarded value that is not
 * an address is ignored.
 */
function clientAddress(request: Request): string | undefined {
  const { remoteAddress } = request.socket;
  // Without the header, Express returns the same, but slower.
  if (!('x-forwarded-for' in request.headers)) return remoteAddress;
  const { ip } = request;
  return ip !== undefined && isIP(ip) ? ip : remoteAddress;
}

/** Whether the request has a body (RFC 9112, section 6.3). */
export function hasBody(request: Request): boolean {
  const length = request.headers['content-length'];
  return (length !== undefined && !/^0+$/.test(length)) || 'transfer-encoding' in request.headers;
}
