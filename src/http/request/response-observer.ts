import type { NextFunction, Request, Response } from './request.js';

/** Told once about every request, when its answer is out or its connection is gone. */
export type ResponseObserver = (request: Request, response: Response, durationMs: number) => void;

/** Returns the step that tells the observers (log, metrics) about each request. */
export function observeResponses(observers: readonly ResponseObserver[]) {
  return (request: Request, response: Response, next: NextFunction): void => {
    response.once('close', () => {
      const durationMs = performance.now() - request.receivedAt;
      for (const observe of observers) observe(request, response, durationMs);
    });
    next();
  };
}

/** The path template that served the request, such as `/v1/pets/:petId`; 'unmatched' when none did. */
export function routeOf(request: Request): string {
  const path: unknown = (request.route as { path?: unknown } | undefined)?.path;
  return typeof path === 'string' && !path.includes('*') ? path : 'unmatched';
}
