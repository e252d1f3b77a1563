import { All, Controller, Module, Next, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ServiceError } from '../../errors/service-error.js';
import { EVERY_PATH } from '../request/request-context.js';
import { allowedMethods } from './allowed-methods.js';
import type { NextFunction, Request, Response } from '../request/request.js';

/**
 * The catch-all route: requests that match no other route pass the guards. Its module comes last. If
 * the path has no route, what a package has mounted in `onModuleInit` follows, or else 404.
 */
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
class UnmatchedController {
  @All(EVERY_PATH)
  respond(@Req() request: Request, @Res() response: Response, @Next() next: NextFunction): void {
    const methods = allowedMethods(request);
    const allow = methods.join(', ');
    if (methods.length === 0) {
      next();
      return;
    }
    if (request.method !== 'OPTIONS') {
      throw new ServiceError(
        'method_not_allowed',
        `Method not allowed. Allowed methods: ${allow}.`,
        {
          headers: { Allow: allow },
        },
      );
    }
    response.status(204).setHeader('Allow', allow).end();
  }
}

@Module({ controllers: [UnmatchedController] })
export class UnmatchedModule {}
