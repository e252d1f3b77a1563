import type { NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';

/** Runs middleware in its order, as one: a router layer for each costs time (docs/performance.md). */
export class MiddlewareChain {
  constructor(private readonly steps: readonly NestMiddleware[]) {}

  use(request: Request, response: Response, next: NextFunction): void {
    let index = 0;
    const nextStep: NextFunction = (error) => {
      const step = this.steps[index++];
      if (error || !step) return next(error);
      try {
        step.use(request, response, nextStep);
      } catch (cause) {
        next(cause);
      }
    };
    nextStep();
  }
}
