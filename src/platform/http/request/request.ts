import type { RequestState } from './request-state.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** What the steps of the request keep. RequestContextMiddleware, the first step, creates it. */
    state: RequestState;
  }
}

export type { NextFunction, Request, Response } from 'express';
