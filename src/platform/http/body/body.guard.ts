import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  type OnModuleInit,
} from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/internal';
import { DiscoveryService, Reflector } from '@nestjs/core';
import { ApiExtension } from '@nestjs/swagger';
import { MAX_BODY_BYTES } from '../../config/bounds.js';
import { Settings } from '../../config/settings.js';
import { payloadTooLarge, ServiceError } from '../../errors/service-error.js';
import { StartError } from '../../errors/start-error.js';
import { decoratedTargets, routeMetadata, routeParameters } from '../request/handler.js';
import { hasBody, requestOf, routeOf, type Request } from '../request/request.js';
import { ResponseDeadline } from '../response/response-deadline.js';
import { ArrivingBodies } from './arriving-bodies.js';
import { parseJson } from './parse-json.js';

/**
 * `application/json` (RFC 9110, section 8.3.1) without charset, with utf-8, or with us-ascii, which is a
 * part of it. Other parameters are allowed. No text can match in two ways, so that matching takes linear time.
 */
const JSON_MEDIA_TYPE =
  /^application\/json[\t ]*(?:;[\t ]*(?:(?:charset=(?:utf-?8|us-ascii|"utf-?8"|"us-ascii")|(?!charset=)[^\s;="]+=(?:[^\s;="]+|"(?:[^"\\]|\\.)*"))[\t ]*)?)*$/i;

const CLOSED_EARLY = 'The client has closed the connection.';

/** The bytes that a chunk takes in addition to its content. */
const BYTES_OF_A_CHUNK = 400;

/** Limits of a body. Without one of them, the usual one applies. */
export interface BodyLimits {
  bytes?: number;
  /** The members and elements of the JSON, and the nested values of its DTO. */
  values?: number;
}

const OwnBodyLimits = Reflector.createDecorator<BodyLimits>();

/**
 * Sets the limits of the body of a route, or of each route of a controller. The start rejects more bytes
 * than MAX_UPLOAD_MEBIBYTES. Each value takes up to 7 µs, in which the process handles no other request.
 */
export const BodyLimit = (limits: BodyLimits): MethodDecorator & ClassDecorator =>
  applyDecorators(OwnBodyLimits(limits), ApiExtension('x-body-limits', limits));

/**
 * Reads and parses the JSON body for handlers with a `@Body()` parameter. Express's body parser would
 * read it before the guards can reject the request. The body of any other POST, PUT or PATCH route,
 * such as an upload, is left to the route, and its memory is reserved until the response ends. The body
 * of a request that no route serves is not read. From then on, the response has a deadline.
 */
@Injectable()
export class BodyGuard implements CanActivate, OnModuleInit {
  constructor(
    private readonly arriving: ArrivingBodies,
    private readonly deadline: ResponseDeadline,
    private readonly settings: Settings,
    private readonly discovery: DiscoveryService,
  ) {}

  /** @throws StartError for limits of `@BodyLimit()` that the service cannot keep */
  onModuleInit(): void {
    const { maxUploadBytes, maxArrivingBytes } = this.settings.bounds;
    const max = Math.min(maxUploadBytes, maxArrivingBytes);
    for (const [name, target] of decoratedTargets(this.discovery)) {
      const limits = Reflect.getMetadata(OwnBodyLimits.KEY, target) as BodyLimits | undefined;
      const { bytes = MAX_BODY_BYTES, values = 1 } = limits ?? {};
      // Every value takes a byte.
      if (bytes <= max && values <= bytes) continue;
      const rule = `@BodyLimit() accepts at most ${max} bytes (MAX_UPLOAD_MEBIBYTES, MAX_ARRIVING_MEBIBYTES), and not more values than bytes`;
      throw new StartError(`${name}: ${rule}`);
    }
  }

  /** @throws ServiceError unsupported_media_type, payload_too_large, malformed_json, invalid_request or service_unavailable */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    // Earlier guards may wait. If the connection has closed meanwhile, its events are not emitted again.
    if (request.socket.destroyed) throw new ServiceError('invalid_request', CLOSED_EARLY);
    if (!hasBody(request) || routeOf(request) === 'unmatched') return this.deadline.start(request);
    const kinds = routeParameters(context).map(({ kind }) => kind);
    const limits = routeMetadata(context, OwnBodyLimits);
    const takesFiles =
      kinds.includes(RouteParamtypes.FILE) || kinds.includes(RouteParamtypes.FILES);
    // The fields of an upload are a body of its handler.
    if (kinds.includes(RouteParamtypes.BODY) && !takesFiles) return this.read(request, limits);
    if (!['POST', 'PUT', 'PATCH'].includes(request.method)) return this.deadline.start(request);
    this.reserve(request, limits?.bytes);
    return this.deadline.start(request, this.settings.server.requestTimeoutMs);
  }

  private async read(request: Request, limits: BodyLimits = {}): Promise<true> {
    const startedAt = performance.now();
    const bytes = await readJsonBody(request, this.arriving, limits.bytes);
    const bodyMs = performance.now() - startedAt;
    // Nothing else bounds how many of them wait for the database.
    if (bytes && bytes.length > MAX_BODY_BYTES) this.arriving.reserve(request, bytes.length);
    const body = bytes && parseJson(bytes, limits.values);
    if (limits.values && body instanceof Object) request.state.bodyWithinOwnLimit = body;
    request.body = body;
    return this.deadline.start(request, bodyMs);
  }

  private reserve(request: Request, maxBytes?: number): void {
    const length = Number(request.headers['content-length']);
    // Without it, the size is known only after the route has stored the body.
    if (Number.isNaN(length)) {
      const message = 'A request with this body must have a Content-Length header.';
      throw new ServiceError('invalid_request', message);
    }
    this.arriving.reserve(request, length, maxBytes);
    sendContinue(request);
  }
}

/**
 * Reads the JSON body of a request. Returns undefined when it is empty.
 *
 * @throws ServiceError unsupported_media_type, payload_too_large or service_unavailable, or, after a wait,
 *   the errors of ApiKeyGuard
 */
async function readJsonBody(
  request: Request,
  arriving: ArrivingBodies,
  maxBytes = MAX_BODY_BYTES,
): Promise<Buffer | undefined> {
  checkMediaType(request);
  if (Number(request.headers['content-length']) > maxBytes) throw payloadTooLarge(maxBytes);
  sendContinue(request);
  // A small body often arrives together with the head.
  const isComplete = request.complete && request.readableLength <= maxBytes;
  const bytes = isComplete
    ? (request.read() as Buffer | null)
    : await receiveBytes(request, arriving, maxBytes);
  const { bodyFailure, callerCheck } = request.state;
  if (bodyFailure) throw bodyFailure;
  // The API key may have been revoked while the service waited for the body.
  if (!isComplete) await callerCheck?.checkAgain(request);
  return bytes?.length ? bytes : undefined;
}

/** Lets a client send the body that it has announced (RFC 9110, section 10.1.1). */
function sendContinue({ headers, httpVersion, res }: Request): void {
  if (headers.expect !== undefined && httpVersion === '1.1') res?.writeContinue();
}

function checkMediaType({ headers }: Request): void {
  if (!JSON_MEDIA_TYPE.test(headers['content-type'] ?? '')) {
    throw new ServiceError('unsupported_media_type');
  }
  const coding = headers['content-encoding'] ?? '';
  if (coding === '' || coding.toLowerCase() === 'identity') return;
  // RFC 9110, section 15.5.16
  const acceptEncoding = { 'Accept-Encoding': 'identity' };
  const message = 'The request body must not be compressed. Send it without Content-Encoding.';
  throw new ServiceError('unsupported_media_type', message, { headers: acceptEncoding });
}

function receiveBytes(
  request: Request,
  arriving: ArrivingBodies,
  maxBytes: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  request.state.isBodyAwaited = true;
  return new Promise<Buffer>((resolve, reject) => {
    const body = arriving.add(end);
    function receive(chunk: Buffer): void {
      length += chunk.length;
      if (length > maxBytes) return end(payloadTooLarge(maxBytes));
      chunks.push(chunk);
      arriving.resize(body, length + chunks.length * BYTES_OF_A_CHUNK);
    }
    function end(error?: ServiceError): void {
      request.off('data', receive);
      request.state.isBodyAwaited = false;
      arriving.remove(body);
      if (error) reject(error);
      else resolve(Buffer.concat(chunks));
    }
    request.on('data', receive).once('end', end);
    // Only the log shows this error.
    request.once('error', () => end(new ServiceError('invalid_request', CLOSED_EARLY)));
  });
}
