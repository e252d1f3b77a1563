import { ApiExtension } from '@nestjs/swagger';

/** The limit of a route, in addition to those of the caller's plan. */
export interface RouteLimit {
  limit: number;
  seconds: number;
}

/** Passes the limit to `describeOperation`, which does not publish this extension. */
export const ROUTE_LIMIT = 'x-route-limit';

/** Describes the rate limit of an operation. @param limit 'none': no limit, and no headers */
export function ApiRouteLimit(limit: RouteLimit | 'none'): MethodDecorator {
  return ApiExtension(ROUTE_LIMIT, limit);
}
