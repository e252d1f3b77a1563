import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/internal';
import { ServiceError } from '../../errors/service-error.js';
import { routeParameters } from '../request/handler.js';
import { requestOf, routeOf } from '../request/request.js';
import { ifMatchOf, ifMatchParameter } from './if-match.js';

const UNSUPPORTED =
  'This operation does not support If-Match, because it compares no ETags. Send the request without it.';

/**
 * Rejects a malformed `If-Match` before the body is read, and one that the handler would ignore: the
 * client relies on it to not overwrite the change of another one (RFC 9110, section 13.1.1). A read
 * changes nothing, and ignores it.
 */
@Injectable()
export class IfMatchGuard implements CanActivate {
  /** @throws ServiceError invalid_request */
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    if (request.headers['if-match'] === undefined || isRead(request.method)) return true;
    if (routeOf(request) === 'unmatched') return true;
    const parameters = Object.entries(routeParameters(context));
    if (parameters.some(([, { factory }]) => factory === ifMatchParameter)) {
      ifMatchOf(request);
      return true;
    }
    // `@Headers('If-Match')`: the handler compares it.
    const isOwn = parameters.some(
      ([kind, { data }]) =>
        Number.parseInt(kind) === (RouteParamtypes.HEADERS as number) &&
        /^if-match$/i.test(String(data)),
    );
    if (!isOwn) throw new ServiceError('invalid_request', UNSUPPORTED);
    return true;
  }
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}
