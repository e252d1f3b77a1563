import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { Settings } from '../../config/settings.js';
import { hasBody, perRoute, requestOf, routeOf } from '../request/request-context.js';
import { RESPONSE_DEADLINE } from '../request/response-deadline.js';
import { ArrivingBodies } from './arriving-bodies.js';
import { boundStream } from './bounded-stream.js';
import { isMounted } from '../request/mounted-path.js';
import { parseJson } from './parse-json.js';
import { acceptUpload, isJson, isMultipart, readJsonBody } from './read-body.js';

/** Time for all work of the service except its waits for the database. */
const MARGIN_MS = 500;

/**
 * Reads and parses the body for handlers with a `@Body()` parameter, and for what packages mount.
 * Express's body parser would read the body before the guards can reject the request. The body of an
 * upload is left to an interceptor. Any other body, which a handler may read as a stream, has the same
 * size limit. It also sets when the response is due: each wait for the database has its own limit, but
 * several can add up. Connections then sends 503.
 */
@Injectable()
export class JsonBodyGuard implements CanActivate {
  private readonly responseLimitMs: number;
  private readonly requestTimeoutMs: number;

  constructor(
    private readonly arriving: ArrivingBodies,
    { database, server }: Settings,
  ) {
    this.responseLimitMs = database.poolWaitMs + database.statementTimeoutMs + MARGIN_MS;
    this.requestTimeoutMs = server.requestTimeoutMs;
  }

  /** @throws ServiceError unsupported_media_type, payload_too_large, malformed_json or service_unavailable */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const { takesFiles, takesBody, limitMs = this.responseLimitMs } = routeBody(context);
    let waitedMs = 0;
    if (takesFiles || (!takesBody && isMultipart(request))) {
      acceptUpload(request, this.arriving);
      waitedMs = this.requestTimeoutMs;
    } else if (takesBody || (isJson(request) && isMounted(request))) {
      const startedAt = performance.now();
      const bytes = await readJsonBody(request, this.arriving);
      waitedMs = performance.now() - startedAt;
      request.body = bytes && parseJson(bytes);
    } else if (hasBody(request) && (routeOf(request) !== 'unmatched' || isMounted(request))) {
      boundStream(request, this.arriving);
    }
    request.dueAt = request.receivedAt + waitedMs + limitMs;
    return true;
  }
}

/** What a handler declares about its body, and its own response deadline. */
const routeBody = perRoute((context) => {
  const [controller, handler] = [context.getClass(), context.getHandler()];
  const parameters: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler.name);
  const kinds = Object.keys(parameters ?? {}).map((key) => Number(key.split(':')[0]));
  const limitMs: unknown =
    Reflect.getMetadata(RESPONSE_DEADLINE, handler) ??
    Reflect.getMetadata(RESPONSE_DEADLINE, controller);
  return {
    takesFiles: kinds.includes(RouteParamtypes.FILE) || kinds.includes(RouteParamtypes.FILES),
    takesBody: kinds.includes(RouteParamtypes.BODY),
    limitMs: limitMs as number | undefined,
  };
});
