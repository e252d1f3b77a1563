import { All, Controller, Next, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { PUBLIC_MESSAGES } from '../../errors/public-messages.js';
import { ServiceError } from '../../errors/service-error.js';
import { allowedMethods } from './allowed-methods.js';
import { RespondsToPreflights } from '../request/preflight.js';
import { setPreflightHeaders } from './cors.js';
import type { NextFunction, Request, Response } from '../request/request.js';

/**
 * The catch-all route: requests that match no other route pass the guards. Its module comes last. If
 * the path has no route, what a package has mounted in `onModuleInit` follows, or else 404.
 */
@ApiExcludeController()
@RespondsToPreflights()
@Controller({ version: VERSION_NEUTRAL })
export class UnmatchedController {
  @All('/{*path}')
  respond(@Req() request: Request, @Res() response: Response, @Next() next: NextFunction): void {
    const methods = allowedMethods(request);
    const allow = methods.join(', ');
    if (request.corsPreflight) {
      setPreflightHeaders(response, methods);
    } else if (methods.length === 0) {
      next();
      return;
    } else if (request.method === 'OPTIONS') {
      response.setHeader('Allow', allow);
    } else {
      throw new ServiceError('method_not_allowed', PUBLIC_MESSAGES.methodNotAllowed(allow), {
        headers: { Allow: allow },
      });
    }
    response.status(204).end();
  }
}
