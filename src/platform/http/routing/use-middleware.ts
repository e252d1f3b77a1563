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
      canActivate: async (context: ExecutionContext) => {
        const error = await new Promise((resolve, reject) => {
          const ended = handle(requestOf(context), responseOf(context), resolve);
          void Promise.resolve(ended).catch(reject);
        });
        if (error) throw error as Error;
        return true;
      },
    })),
  );
