import { IncomingMessage, METHODS, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Injectable, Logger } from '@nestjs/common';
import { MAX_HEADERS } from '../../config/bounds.js';
import { UNSUPPORTED_EXPECT } from '../../errors/catalogue.js';
import { ServiceError } from '../../errors/service-error.js';
import { requestId } from '../request/request-context.middleware.js';
import type { Request, Response } from '../request/request.js';
import { RequestState } from '../request/request-state.js';
import { CorsMiddleware } from '../routing/cors.middleware.js';
import { ConnectionsMiddleware } from './connections.middleware.js';
import { lingerAfterResponse, lingerThenDestroy } from './lingering-close.js';

const HTTP_METHODS: ReadonlySet<string> = new Set(METHODS);

// The same for every request.
const HEADERS_TOO_LARGE = new ServiceError('headers_too_large');
const INVALID_MESSAGE = invalidRequest(
  'The request is not a valid HTTP message. Methods are in upper case, and URLs are percent-encoded.',
);
const INVALID_HOST = invalidRequest(
  'The request must have one Host header with a host name or address, and an optional port. A URL must have a host and no user information.',
);

/** Sends the error of a message that is no request. The response has the headers of every response. */
type Respond = (request: Request, response: Response, error: ServiceError) => Promise<void>;

/** Detects messages that HTTP does not allow. Node's HTTP server would respond without an Error body. */
@Injectable()
export class MalformedMessages {
  private readonly logger = new Logger(MalformedMessages.name);
  private readonly malformed = new WeakSet<Socket>();

  constructor(
    private readonly connections: ConnectionsMiddleware,
    private readonly cors: CorsMiddleware,
  ) {}

  /** Handles the server's events about malformed and unusual requests. */
  watchServer(respond: Respond): void {
    const { server } = this.connections;
    if (!server) return;
    // BodyGuard sends the 100, and ProtocolErrorsMiddleware a 417.
    for (const event of ['checkContinue', 'checkExpectation'])
      server.on(event, (...message: unknown[]) => server.emit('request', ...message));
    server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) => {
      // The client has reset the connection, or the service has ended it. Nobody receives a response.
      if (!socket.writable) return;
      // A browser or a pool has opened a connection ahead and has not used it.
      if ((socket as Socket).bytesRead === 0) return void socket.destroy();
      const rejection = PARSER_ERRORS.get(error.code) ?? INVALID_MESSAGE;
      this.onMalformed(socket as Socket, rejection, respond, error.rawPacket);
    });
    server.on('connect', (_request, socket) => {
      socket.on('error', () => socket.destroy());
      this.onMalformed(socket as Socket, invalidRequest('CONNECT is not supported.'), respond);
    });
  }

  private onMalformed(socket: Socket, error: ServiceError, respond: Respond, input?: Buffer): void {
    // The parser fails again on all input after the first malformed message.
    if (this.malformed.has(socket)) return;
    this.malformed.add(socket);
    const request = this.connections.requestOf(socket);
    if (!request) return void this.respondOn(socket, error, respond, input);
    // The error is in the body, or in a message that the client sent before the response.
    if (!request.complete) {
      // It rejects the request only if the service reads the body. The stream ends without an
      // error, which would close the connection.
      request.state.bodyFailure = error;
      request.complete = true;
      request.push(null);
    }
    lingerAfterResponse(request.res as Response);
  }

  private async respondOn(socket: Socket, error: ServiceError, respond: Respond, input?: Buffer) {
    const request = new IncomingMessage(socket) as Request;
    const response = new ServerResponse(request) as Response;
    try {
      response.assignSocket(socket);
      response.once('finish', () => lingerThenDestroy(socket));
      request.state = new RequestState(requestId(headerIn(input, 'X-Request-Id')));
      response.setHeader('X-Request-Id', request.state.id);
      response.setHeader('X-Content-Type-Options', 'nosniff');
      request.headers.origin = headerIn(input, 'Origin');
      this.cors.use(request, response, () => undefined);
      await respond(request, response, error);
    } catch (cause) {
      this.logger.error({ msg: 'failed to respond to a malformed request', err: cause });
      socket.destroy();
    }
  }
}

/** Finds a header in the bytes that the parser has rejected: the last ones that arrived. */
function headerIn(input: Buffer | undefined, name: string): string | undefined {
  return new RegExp(`^${name}:(.*)$`, 'im').exec(input?.toString('latin1') ?? '')?.[1]?.trim();
}

/** Returns the error of a request that the parser accepts and the service does not. */
export function violationOf(request: Request): ServiceError | undefined {
  const { rawHeaders, httpVersion, method, headers } = request;
  const { 'transfer-encoding': coding, expect } = headers;
  // The list has a name and a value for each header.
  if (rawHeaders.length > 2 * MAX_HEADERS) return HEADERS_TOO_LARGE;
  // The parser accepts methods of RTSP, for which no route and no guard would run.
  if ((httpVersion !== '1.1' && httpVersion !== '1.0') || !HTTP_METHODS.has(method)) {
    return invalidRequest('The service supports HTTP/1.1 and HTTP/1.0, with the methods of HTTP.');
  }
  if (hasInvalidHost(request)) return INVALID_HOST;
  // Otherwise, the end of the body is ambiguous (RFC 9112, sections 6.1 and 6.3).
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0')) {
    return invalidRequest('The only supported Transfer-Encoding is chunked, in HTTP/1.1.');
  }
  if (expect === undefined || expect.toLowerCase() === '100-continue') return undefined;
  return new ServiceError({ code: 'invalid_request', status: 417, when: UNSUPPORTED_EXPECT });
}

/** The errors of Node's parser and its timeouts, by their code. Any other is INVALID_MESSAGE. */
const PARSER_ERRORS = new Map<string | undefined, ServiceError>([
  ['HPE_HEADER_OVERFLOW', HEADERS_TOO_LARGE],
  ['ERR_HTTP_REQUEST_TIMEOUT', new ServiceError('request_timeout')],
]);

function invalidRequest(message: string): ServiceError {
  return new ServiceError('invalid_request', message);
}

/**
 * A name, which may be empty, or an address, and a port. Node joins two headers with a comma, which this
 * does not allow in a name.
 */
const HOST = /^(?:\[[\d:.a-f]+\]|[-\w.~!$&'()*+;=%]*)(?::\d*)?$/i;

/** A request target without a host or with user information (RFC 9110, sections 4.2.1 and 4.2.4). */
const INVALID_AUTHORITY = /^https?:\/\/(?:[/?#:]|$)|^(?:[a-z][a-z\d+.-]*:)?\/\/+[^/?#]*@/i;

/** Returns whether the Host header is missing, given twice or malformed (RFC 9112, section 3.2). */
function hasInvalidHost({ headers: { host }, httpVersion, originalUrl }: Request): boolean {
  if (host === undefined ? httpVersion !== '1.0' : !HOST.test(host)) return true;
  return INVALID_AUTHORITY.test(originalUrl);
}
