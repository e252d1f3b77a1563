import { All, Controller, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ServiceError } from '../../errors/service-error.js';
import { allowedMethods } from './allowed-methods.js';
import { setPreflightHeaders } from './cors.js';
import type { Request, Response } from '../request/request.js';

/**
 * Answers for every path and method that no other controller serves, so that these too pass the
 * guards. Its module has to be the last one imported: routes are tried in their order.
 */
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class UnmatchedController {
  @All('/{*path}')
  answer(@Req() request: Request, @Res() response: Response): void {
    const methods = allowedMethods(request);
    if (request.corsPreflight) setPreflightHeaders(response, methods);
    else if (methods.length === 0) {
      throw new ServiceError('route_not_found', 'There is nothing at this path.');
    } else if (request.method === 'OPTIONS') response.setHeader('Allow', methods.join(', '));
    else {
      const allow = methods.join(', ');
      throw new ServiceError('method_not_allowed', `This path takes ${allow}.`, {
        headers: { Allow: allow },
      });
    }
    response.status(204).end();
  }
}
