import { type ExecutionContext, UseGuards } from '@nestjs/common';
import type { RequestHandler } from 'express';
import { requestOf, responseOf } from '../request/request-context.js';

/**
 * Runs Express middleware for a route, or for the routes of a controller, after the request was
 * counted and its API key was checked. Middleware of `configure(consumer)` runs before.
 */
export const UseMiddleware = (...middleware: RequestHandler[]): MethodDecorator & ClassDecorator =>
  UseGuards(
    ...middleware.map((handle) => ({
      canActivate: (context: ExecutionContext) =>
        new Promise<boolean>((resolve, reject) => {
          const next = (error?: unknown): void => (error ? reject(error as Error) : resolve(true));
          void Promise.resolve(handle(requestOf(context), responseOf(context), next)).catch(reject);
        }),
    })),
  );
