import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { trace } from '@opentelemetry/api';
import { Injectable, type NestMiddleware } from '@nestjs/common';
import { CLS_ID, CLS_REQ, ClsService, ClsServiceManager } from 'nestjs-cls';
import type { NextFunction, Request, Response } from './request.js';
import { RequestState } from './request-state.js';

const REQUEST_ID = /^[A-Za-z0-9_-]{1,128}$/;
const MAX_FORWARDED_ADDRESSES = 16;
/** An IPv4 address with a port, or an IPv6 address in brackets with or without one, in a list. */
const PORT =
  /(?<=^|[,\s])(?:(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}|\[([\d:.a-f]{2,45})\](?::\d{1,5})?)(?=$|[,\s])/gi;
/** W3C Trace Context: version, trace-id, parent-id, flags. Later versions may append fields. */
const TRACE_PARENT =
  /^(?:00(?=.{53}$)|(?!00|ff)[0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/;

/**
 * Creates `request.state`, sets the headers of every response, and stores the request in `ClsService`: there,
 * the logger finds its ids, and other code its caller.
 */
@Injectable()
export class RequestContextMiddleware implements NestMiddleware {
  constructor(private readonly cls: ClsService) {}

  use(request: Request, response: Response, next: NextFunction): void {
    const id = requestId(request.headers['x-request-id']);
    // The address is read now, because a disconnected socket has none.
    request.state = new RequestState(id, traceId(request), clientAddress(request));
    response.setHeader('X-Request-Id', id);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    this.cls.runWith({ [CLS_ID]: id, [CLS_REQ]: request }, next);
  }
}

/** Returns the request that the calling code handles, undefined outside of one. */
export function currentRequest(): Request | undefined {
  return ClsServiceManager.getClsService().get<Request | undefined>(CLS_REQ);
}

/** Returns the identifiers of the request that the calling code handles, for its log lines. */
export function currentRequestIds() {
  const request = currentRequest();
  // A connection or timer that a request has created stays in the context of this request.
  if (!request || request.res?.destroyed) return undefined;
  return { requestId: request.state.id, traceId: request.state.traceId };
}

/** Returns the caller's `X-Request-Id` if it is well-formed, otherwise a generated id. */
export function requestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && REQUEST_ID.test(header) ? header : randomUUID();
}

function traceId({ headers: { traceparent } }: Request): string | undefined {
  const sent = traceparent === undefined ? undefined : TRACE_PARENT.exec(String(traceparent))?.[1];
  return sent ?? trace.getActiveSpan()?.spanContext().traceId;
}

/**
 * Returns the client's address, from `X-Forwarded-For` as far as TRUST_PROXY allows. Ports, which some
 * proxies add, are removed. A header with more addresses than the limit is emptied, because `request.ip`
 * compares each one with the proxies.
 */
function clientAddress(request: Request): string | undefined {
  const { headers, socket } = request;
  const forwarded = headers['x-forwarded-for']?.toString();
  // Without the header, Express returns the same address, but slower.
  if (forwarded === undefined) return socket.remoteAddress;
  if (forwarded.split(',', MAX_FORWARDED_ADDRESSES + 1).length > MAX_FORWARDED_ADDRESSES) {
    headers['x-forwarded-for'] = '';
  } else if (forwarded.includes(':')) {
    headers['x-forwarded-for'] = forwarded.replace(PORT, '$1$2');
  }
  const { ip } = request;
  return ip !== undefined && isIP(ip) ? ip : socket.remoteAddress;
}
