import { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Express } from 'express';
import type { Response } from '../request/request.js';

/**
 * Express sets the prototype of every request and response it handles, and V8 then gives up on their
 * shapes: 170 µs of CPU a request. Objects that are created with that prototype already in place
 * make the call a no-op. The classes must stand in the chain of this one application, so they are made for it.
 */
export interface MessageClasses {
  app: Express;
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

/**
 * Returns an Express application and the classes its HTTP server has to create messages with.
 *
 * @param beforeHead called before the head of each answer is written, whoever writes it
 */
export function createMessageClasses(beforeHead: (response: Response) => void): MessageClasses {
  const app = express();
  class ExpressRequest extends IncomingMessage {}
  class ExpressResponse<Message extends IncomingMessage> extends ServerResponse<Message> {
    // The server calls it too, for an answer whose head nobody wrote.
    override writeHead(...head: unknown[]): this {
      beforeHead(this as unknown as Response);
      return super.writeHead(...(head as [number]));
    }
  }
  Object.setPrototypeOf(ExpressRequest.prototype, app.request);
  Object.setPrototypeOf(ExpressResponse.prototype, app.response);
  app.request = ExpressRequest.prototype as unknown as typeof app.request;
  app.response = ExpressResponse.prototype as unknown as typeof app.response;
  return { app, IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
}
