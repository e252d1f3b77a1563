import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { ServiceError } from '../../errors/service-error.js';
import { hasBody, requestOf, routeOf } from '../request/request-context.js';
import type { Request } from '../request/request.js';
import { ArrivingBodies } from './arriving-bodies.js';
import { parseJson } from './parse-json.js';
import { readJsonBody, sendContinue } from './read-body.js';

/**
 * Reads and parses the JSON body for handlers with a `@Body()` parameter. Express's body parser would
 * read it before the guards can reject the request. The body of any other POST, PUT or PATCH route,
 * such as an upload, is left to the route, and its memory is reserved until the response ends. The body
 * of a request that no route serves is not read.
 */
@Injectable()
export class BodyGuard implements CanActivate {
  constructor(private readonly arriving: ArrivingBodies) {}

  /** @throws ServiceError unsupported_media_type, payload_too_large, malformed_json, invalid_request or service_unavailable */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    if (!hasBody(request) || routeOf(request) === 'unmatched') return true;
    const kinds = parametersOf(context);
    const takesFiles = kinds.has(RouteParamtypes.FILE) || kinds.has(RouteParamtypes.FILES);
    // The fields of an upload are a body of its handler.
    if (kinds.has(RouteParamtypes.BODY) && !takesFiles) {
      const bytes = await readJsonBody(request, this.arriving);
      request.body = bytes && parseJson(bytes);
      return true;
    }
    if (['POST', 'PUT', 'PATCH'].includes(request.method)) this.reserve(request);
    return true;
  }

  private reserve(request: Request): void {
    const length = Number(request.headers['content-length']);
    // Without it, the size is known only after the route has stored the body.
    if (Number.isNaN(length)) {
      const message = 'A request with this body must have a Content-Length header.';
      throw new ServiceError('invalid_request', message);
    }
    this.arriving.reserve(request, length);
    sendContinue(request);
  }
}

/** Returns the kinds of the parameters of a handler, such as that of `@Body()`. */
function parametersOf(context: ExecutionContext): Set<number> {
  const { name } = context.getHandler();
  const parameters: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), name);
  return new Set(Object.keys(parameters ?? {}).map((key) => Number(key.split(':')[0])));
}
