import type { NextFunction, Request, Response } from './request.js';

/** Returns the step that ends each connection with its next answer while the condition holds. */
export function closeConnectionsWhile(condition: () => boolean) {
  return (_request: Request, response: Response, next: NextFunction): void => {
    if (condition()) response.setHeader('Connection', 'close');
    next();
  };
}
