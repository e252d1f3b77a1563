import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { Settings } from '../../config/settings.js';
import { perRoute, requestOf } from '../request/request-context.js';
import { ArrivingBodies } from './arriving-bodies.js';
import { parseJson } from './parse-json.js';
import { readJsonBody } from './read-body.js';

/** Time for all work of the service except its waits for the database. */
const MARGIN_MS = 500;

/**
 * Reads and parses the body for handlers with a `@Body()` parameter. Express's body parser would
 * read the body before the guards can reject the request. It also sets when the response is due:
 * each wait for the database has its own limit, but several can add up. Connections then sends 503.
 */
@Injectable()
export class JsonBodyGuard implements CanActivate {
  private readonly responseLimitMs: number;

  constructor(
    private readonly arriving: ArrivingBodies,
    { database }: Settings,
  ) {
    this.responseLimitMs = database.poolWaitMs + database.statementTimeoutMs + MARGIN_MS;
  }

  /** @throws ServiceError unsupported_media_type, payload_too_large, malformed_json or service_unavailable */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    let waitedMs = 0;
    if (hasBodyParameter(context)) {
      const startedAt = performance.now();
      const bytes = await readJsonBody(request, this.arriving);
      waitedMs = performance.now() - startedAt;
      request.body = bytes && parseJson(bytes);
    }
    request.dueAt = request.receivedAt + waitedMs + this.responseLimitMs;
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
