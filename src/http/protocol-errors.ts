import { STATUS_CODES, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { ServiceError } from '../errors/service-error.js';
import { errorBody, sendError } from './json-response.js';
import { requestId } from './request-context.js';
import type { NextFunction, Request, Response } from './request.js';
import { lingerThenDestroy } from './unread-body.js';

/** What the budget of a client address says: the limit fields, and a refusal when it is used up. */
export interface AddressVerdict {
  fields: readonly (readonly [name: string, value: string])[];
  refusal: ServiceError | undefined;
}

/** Takes one request from the budget of a socket's address. */
export type TakeForAddress = (address: string | undefined) => Promise<AddressVerdict>;

/**
 * Answers what HTTP forbids, and what Node's server would otherwise answer by itself without limit
 * fields and Error shape: broken messages, missing Host, unknown Expect, timeouts. Counted for the
 * socket's address, as no key was read.
 */
export class ProtocolErrors {
  private readonly inFlight = new WeakMap<Duplex, Response>();

  constructor(
    private readonly take: TakeForAddress,
    private readonly logger: Logger,
  ) {}

  /** Takes over the events of the server that concern broken requests. */
  attach(server: Server): void {
    const app = server.listeners('request')[0] as (request: Request, response: Response) => void;
    server.on('checkContinue', (request: Request, response: Response) => {
      request.expectsContinue = true;
      app(request, response);
    });
    server.on('checkExpectation', (request: Request, response: Response) => app(request, response));
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      this.onClientError(error, socket as Socket);
    });
    server.on('connect', (_request, socket) => {
      socket.on('error', () => socket.destroy());
      this.answerOnSocket(socket as Socket, invalidRequest('CONNECT is not supported.'));
    });
  }

  /** The step before the router that refuses a request which was read but is not allowed. */
  readonly refuse = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    this.inFlight.set(request.socket, response);
    const error = violation(request);
    if (!error) return next();
    const verdict = await this.take(request.socket.remoteAddress);
    setFields(response, verdict);
    response.setHeader('Connection', 'close');
    sendError(request, response, verdict.refusal ?? error);
  };

  private onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const response = this.inFlight.get(socket);
    if (!response || response.writableFinished) this.answerOnSocket(socket, asServiceError(error));
    else if (response.req.complete) {
      // The error belongs to what follows the request that is being answered.
      response.once('close', () => this.answerOnSocket(socket, asServiceError(error)));
    } else this.answerInFlight(response, asServiceError(error));
  }

  /** The body of a request broke off while the request was being handled: it is counted already. */
  private answerInFlight(response: Response, error: ServiceError): void {
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response.setHeader('Connection', 'close');
    if (response.hasHeader('X-RateLimit-Limit')) {
      sendError(response.req, response, error);
      return;
    }
    void this.take(response.req.socket.remoteAddress).then((verdict) => {
      setFields(response, verdict);
      sendError(response.req, response, verdict.refusal ?? error);
    });
  }

  private answerOnSocket(socket: Socket, error: ServiceError): void {
    void this.take(socket.remoteAddress).then((verdict) => {
      this.write(socket, verdict.refusal ?? error, verdict);
    });
  }

  private write(socket: Socket, error: ServiceError, verdict: AddressVerdict): void {
    const id = requestId(undefined);
    this.logger.info({ requestId: id, status: error.status, code: error.code }, 'broken request');
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const body = errorBody(error);
    const fields = {
      Date: new Date().toUTCString(),
      'X-Request-Id': id,
      ...Object.fromEntries(verdict.fields),
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

function setFields(response: Response, { fields }: AddressVerdict): void {
  for (const [name, value] of fields) response.setHeader(name, value);
}

function violation(request: Request): ServiceError | undefined {
  if (request.headers.host === undefined && request.httpVersionMajor === 1 && request.httpVersionMinor >= 1) {
    return invalidRequest('An HTTP/1.1 request must carry a Host field.');
  }
  const { expect } = request.headers;
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return new ServiceError('invalid_request', 'Expect takes 100-continue only.', { status: 417 });
  }
  return undefined;
}

function asServiceError(error: NodeJS.ErrnoException): ServiceError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ServiceError('headers_too_large', 'The header fields of the request are too large.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ServiceError('payload_too_large', 'The chunk extensions of the request are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServiceError('request_timeout', 'The request did not arrive in time.');
    default:
      return invalidRequest('The request is not a valid HTTP message.');
  }
}

function invalidRequest(message: string): ServiceError {
  return new ServiceError('invalid_request', message);
}
