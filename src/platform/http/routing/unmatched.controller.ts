import { All, Controller, Next, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ServiceError } from '../../errors/service-error.js';
import {
  EVERY_PATH,
  exceedsAccess,
  type NextFunction,
  type Request,
  type Response,
} from '../request/request.js';
import { ApiVersions } from './api-versions.js';
import { RouteTable } from './route-table.js';

/**
 * The catch-all route: requests that match no other route pass the guards. NestJS registers it last,
 * because it is the least specific one. If the path has no route, what a package has mounted in
 * `onModuleInit` follows, or else 404.
 */
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class UnmatchedController {
  constructor(
    private readonly routes: RouteTable,
    private readonly versions: ApiVersions,
  ) {}

  @All(EVERY_PATH)
  respond(@Req() request: Request, @Res() response: Response, @Next() next: NextFunction): void {
    const { method, path } = request;
    const known = this.routes.find(path);
    if (!known) {
      if (!exceedsAccess(request)) return next();
      // A handler of a package may do more than read. It does not know the access of an API key.
      if (this.routes.isMounted(path)) throw new ServiceError('read_only_api_key');
      throw this.versions.routeNotFound();
    }
    const { allow, hint } = known;
    response.setHeader('Allow', allow);
    if (method !== 'OPTIONS') {
      const message = `Method not allowed. Allowed methods: ${allow}. ${hint}`.trim();
      throw new ServiceError('method_not_allowed', message);
    }
    response.status(204).end();
  }
}
