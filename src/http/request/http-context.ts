import type { ArgumentsHost } from '@nestjs/common';
import type { Request, Response } from './request.js';

// What `switchToHttp()` hands out, without the three functions that it makes at every call.

/** Returns the request that is being worked on. */
export function requestOf(host: ArgumentsHost): Request {
  return host.getArgByIndex<Request>(0);
}

/** Returns the answer to it. */
export function responseOf(host: ArgumentsHost): Response {
  return host.getArgByIndex<Response>(1);
}
