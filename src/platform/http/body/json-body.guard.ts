import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { Settings } from '../../config/settings.js';
import { perRoute, requestOf, responseOf } from '../request/request-context.js';
import { startResponseDeadline } from '../response/response-deadline.js';
import { ArrivingBodies } from './arriving-bodies.js';
import { parseJson } from './parse-json.js';
import { readJsonBody } from './read-body.js';

/**
 * Reads and parses the body for handlers with a `@Body()` parameter. Express's body parser would
 * read the body before the guards can reject the request.
 */
@Injectable()
export class JsonBodyGuard implements CanActivate {
  constructor(
    private readonly arriving: ArrivingBodies,
    private readonly settings: Settings,
  ) {}

  /** @throws ServiceError unsupported_media_type, payload_too_large, malformed_json or service_unavailable */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const response = responseOf(context);
    const startedAt = performance.now();
    if (hasBodyParameter(context)) {
      const bytes = await readJsonBody(request, this.arriving);
      request.body = bytes && parseJson(bytes);
    }
    startResponseDeadline(response, this.settings.database, performance.now() - startedAt);
    return true;
  }
}

const hasBodyParameter = perRoute((context) => {
  const parameters = Reflect.getMetadata(
    ROUTE_ARGS_METADATA,
    context.getClass(),
    context.getHandler().name,
  ) as object | undefined;
  return Object.keys(parameters ?? {}).some((key) => key.startsWith(`${RouteParamtypes.BODY}:`));
});
