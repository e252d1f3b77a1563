import type { ServiceError } from '../../errors/service-error.js';
import { entityTag, isListed } from './entity-tag.js';
import type { Request, Response } from '../request/request.js';

const JSON_TYPE = 'application/json';

/**
 * Sends a body: JSON text, unless a type is declared. A 200 to GET or HEAD has the ETag of the handler.
 * Without one and without `Cache-Control`, it is computed from the body and the link.
 *
 * @param link to the next page. Other links are not part of the representation
 */
export function sendBody(
  request: Request,
  response: Response,
  body: string | Uint8Array,
  link?: string,
): void {
  // Before the hash: V8 joins the parts of the text here, and does not have to do it twice.
  const length = Buffer.byteLength(body);
  const hasOwn = response.hasHeader('etag') || response.hasHeader('cache-control');
  if (isRead(request, response) && !hasOwn) response.setHeader('ETag', entityTag(body, link));
  if (!sendNotModified(request, response)) end(response, body, length);
}

function isRead(request: Request, response: Response): boolean {
  return (request.method === 'GET' || request.method === 'HEAD') && response.statusCode === 200;
}

/** Sends 304 to a read whose `If-None-Match` lists the ETag. Returns whether it did. */
export function sendNotModified(request: Request, response: Response): boolean {
  const tag = response.getHeader('etag')?.toString();
  const isKnown = isRead(request, response) && isListed(request.headers['if-none-match'], tag);
  if (isKnown) response.status(304).end();
  return isKnown;
}

/** Sends a response without a body: 204, or the status that the handler has set. */
export function sendNothing(response: Response): void {
  if (response.statusCode === 200) response.statusCode = 204;
  response.removeHeader('content-type');
  response.end();
}

/** Headers that a status requires (RFC 9110, RFC 6585), unless the error or the handler sets them. */
const REQUIRED_HEADERS = new Map<number, [name: string, value: string]>([
  // Empty: the service does not know which methods a handler would accept.
  [405, ['Allow', '']],
  [429, ['Retry-After', '60']],
  [503, ['Retry-After', '2']],
]);

/** Headers that describe a result. An error can declare its own. */
const OF_RESULTS =
  /^(?:content-(?!security)|(?:accept-ranges|(?:repr-)?digest|etag|expires|idempotent-replayed|last-modified|link|location|trailer|transfer-encoding)$)/;

/** Sends an error. Closes the connection if a response is already partly sent. */
export function sendError(response: Response, error: ServiceError): void {
  response.req.state.failure ??= error;
  if (response.headersSent) {
    if (!response.writableEnded) response.destroy();
    return;
  }
  response.statusCode = error.status;
  const link = /<[^<>]*>; rel="successor-version"/.exec(String(response.getHeader('link')))?.[0];
  for (const name of response.getHeaderNames()) {
    if (OF_RESULTS.test(name)) response.removeHeader(name);
  }
  if (link) response.setHeader('Link', link);
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  const [name = '', value = ''] = REQUIRED_HEADERS.get(error.status) ?? [];
  if (name && !response.hasHeader(name)) response.setHeader(name, value);
  response.setHeader('Cache-Control', 'no-store');
  const { code, message, status } = error;
  response.setHeader('Content-Type', JSON_TYPE);
  const body = JSON.stringify({ code, message, status });
  end(response, body, Buffer.byteLength(body));
}

function end(response: Response, body: string | Uint8Array, length: number): void {
  // Nobody receives it, and the log must not state its status.
  if (response.req.socket.destroyed) return;
  if (!response.hasHeader('content-type')) response.setHeader('Content-Type', JSON_TYPE);
  response.setHeader('Content-Length', length);
  response.writeHead(response.statusCode);
  if (held.push([response, body]) === 1) setImmediate(endHeld);
}

/**
 * Responses of one event-loop tick. They end one right after the other: the first write wakes the
 * client or the proxy, and a write that has to wake its reader costs several times as much
 * (docs/performance.md). This relies on nothing undocumented. Without it, each ends at once.
 */
let held: [response: Response, body: string | Uint8Array][] = [];

function endHeld(): void {
  const responses = held;
  held = [];
  for (const [response, body] of responses) response.end(body);
}
