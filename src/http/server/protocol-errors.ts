import { STATUS_CODES, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { ServiceError } from '../../errors/service-error.js';
import { errorBody, sendError } from '../response/send-json.js';
import { hasBody, requestId } from '../request/request-context.js';
import { hasValidAuthority, isValidHost } from '../routing/request-target.js';
import type { AddressDecision, NextFunction, Request, Response } from '../request/request.js';
import { lingerThenDestroy } from './lingering-close.js';

/** Takes one request from the budget of a socket's address. */
export type TakeForAddress = (address: string | undefined) => Promise<AddressDecision>;

/**
 * Answers what HTTP forbids, and what Node's server would otherwise answer by itself without limit
 * fields and Error shape: broken messages, missing Host, unknown Expect, timeouts. Counted for the
 * socket's address, as no key was read.
 */
export class ProtocolErrors {
  /** The last answer that each connection owes, or has given. */
  private readonly answers = new WeakMap<Duplex, Response>();
  private readonly broken = new WeakSet<Duplex>();

  constructor(
    private readonly take: TakeForAddress,
    private readonly logger: Logger,
    private readonly loggedAddress: (address: string | undefined) => string | undefined,
  ) {}

  /** Takes over the events of the server that concern broken requests. */
  attach(server: Server): void {
    const app = server.listeners('request')[0] as (request: Request, response: Response) => void;
    const track = (request: Request, response: Response): void => {
      this.answers.set(request.socket, response);
    };
    // Before the request is handled: that can begin in a later tick than what follows on the connection is parsed.
    server.prependListener('request', track);
    server.on('checkContinue', (request: Request, response: Response) => {
      request.expectsContinue = true;
      track(request, response);
      app(request, response);
    });
    server.on('checkExpectation', (request: Request, response: Response) => {
      track(request, response);
      app(request, response);
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      this.onClientError(error, socket as Socket);
    });
    server.on('connect', (_request, socket) => {
      socket.on('error', () => socket.destroy());
      this.answerNext(socket as Socket, invalidRequest('CONNECT is not supported.'));
    });
  }

  /** The step before the router that refuses a request which was read but is not allowed. */
  readonly refuse = (
    request: Request,
    response: Response,
    next: NextFunction,
  ): Promise<void> | undefined => {
    const error = violation(request);
    if (error) return this.answer(request, response, error);
    // Then what came with the head is parsed too: only of a small body that is known to be complete does
    // the connection outlive a refusal.
    if (hasBody(request)) setImmediate(next);
    else next();
    return undefined;
  };

  private async answer(request: Request, response: Response, error: ServiceError): Promise<void> {
    const decision = await this.take(request.socket.remoteAddress);
    setHeaders(response, decision);
    response.setHeader('Connection', 'close');
    sendError(response, decision.rejection ?? error);
  }

  private onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    // The parser was stopped, see Connections: the connection closes after its last response.
    if (error.code === 'HPE_PAUSED') return;
    // The parser fails again on whatever follows what it could not read.
    if (this.broken.has(socket)) return;
    this.broken.add(socket);
    const failure = asServiceError(error);
    const request = this.answers.get(socket)?.req;
    // Whoever waits for the body learns it. Nobody may: then the answer is not affected.
    if (request && !request.complete) failBody(request, failure);
    else this.answerNext(socket, failure);
  }

  /** Answers what came after the last whole request, when that one has its answer. */
  private answerNext(socket: Socket, error: ServiceError): void {
    const last = this.answers.get(socket);
    if (!last || last.writableFinished) this.answerOnSocket(socket, error);
    else last.once('close', () => this.answerOnSocket(socket, error));
  }

  private answerOnSocket(socket: Socket, error: ServiceError): void {
    // Ended after an earlier answer, or by the client: nothing can be told any more.
    if (!socket.writable) return;
    const { remoteAddress } = socket;
    this.take(remoteAddress).then(
      (decision) => this.write(socket, remoteAddress, decision.rejection ?? error, decision),
      (cause: unknown) => {
        this.logger.error({ err: cause }, 'broken request not answered');
        socket.destroy();
      },
    );
  }

  private write(
    socket: Socket,
    address: string | undefined,
    error: ServiceError,
    decision: AddressDecision,
  ): void {
    const id = requestId(undefined);
    const { status, code } = error;
    const clientAddress = this.loggedAddress(address);
    this.logger.info({ requestId: id, status, code, clientAddress }, 'broken request');
    if (!socket.writable) return;
    const body = errorBody(error);
    const fields = {
      Date: new Date().toUTCString(),
      'X-Request-Id': id,
      'X-Content-Type-Options': 'nosniff',
      ...Object.fromEntries(decision.headers),
      ...error.headers,
      'Cache-Control': 'no-store',
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      Connection: 'close',
    };
    const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${head.join('')}\r\n${body}`,
    );
    lingerThenDestroy(socket);
  }
}

function setHeaders(response: Response, { headers }: AddressDecision): void {
  for (const [name, value] of headers) response.setHeader(name, value);
}

function violation(request: Request): ServiceError | undefined {
  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') {
    return invalidRequest('The service speaks HTTP/1.1 and HTTP/1.0.');
  }
  // RFC 9112, 3.2
  const hosts = hostFields(request);
  if (hosts > 1 || (hosts === 0 && request.httpVersion !== '1.0')) {
    return invalidRequest('An HTTP/1.1 request must have exactly one Host header.');
  }
  if (!isValidHost(request.headers.host ?? '') || !hasValidAuthority(request.originalUrl)) {
    return invalidRequest(
      'The host of the request is not valid. Expected: a host name or address, and an optional port.',
    );
  }
  const { expect, 'transfer-encoding': coding } = request.headers;
  // RFC 9112, 6.3: where the body ends would be anybody's guess.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    return invalidRequest('Transfer-Encoding takes chunked only.');
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return new ServiceError('invalid_request', 'Expect takes 100-continue only.', { status: 417 });
  }
  return undefined;
}

function hostFields({ rawHeaders }: Request): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

function failBody(request: Request, failure: ServiceError): void {
  request.bodyFailure = failure;
  request.emit('bodyFailure');
}

function asServiceError(error: NodeJS.ErrnoException): ServiceError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ServiceError(
        'headers_too_large',
        'The header fields of the request are too large.',
      );
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ServiceError(
        'payload_too_large',
        'The chunk extensions of the request are too large.',
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServiceError('request_timeout', 'The request did not arrive in time.');
    default:
      return invalidRequest('The request is not a valid HTTP message.');
  }
}

function invalidRequest(message: string): ServiceError {
  return new ServiceError('invalid_request', message);
}
