import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { Settings } from '../../config/settings.js';
import { Decompression } from './decompression.js';
import { perRoute, requestOf, responseOf } from '../request/http-context.js';
import { parseJson } from './parse-json.js';
import { MAX_BODY_BYTES, readJsonBody } from './read-body.js';

/**
 * Admits a request only with a body that reads as JSON, where the handler asks for `@Body()`. A guard,
 * because it has to stand behind the limits and the key and before the pipes; the body of a request
 * that these refuse is never read. Requests without `@Body()` pass at once.
 */
@Injectable()
export class JsonBodyGuard implements CanActivate {
  private readonly decompression: Decompression;

  constructor({ bounds }: Settings) {
    this.decompression = new Decompression(bounds.maxDecompressions, MAX_BODY_BYTES);
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return takesBody(context) ? this.readBody(context) : true;
  }

  private async readBody(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const startedAt = performance.now();
    // A client that sends slowly must not keep the place of others.
    request.slot?.release();
    const bytes = await readJsonBody(request, responseOf(context), this.decompression);
    request.slot?.takeBack();
    request.bodyTookMs = performance.now() - startedAt;
    request.body = bytes && parseJson(bytes);
    return true;
  }
}

/** Whether the handler has a `@Body()`. */
const takesBody = perRoute((context) =>
  hasBodyParameter(context.getClass(), context.getHandler().name),
);

function hasBodyParameter(controller: object, handler: string): boolean {
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler) as
    object | undefined;
  return Object.keys(parameters ?? {}).some((key) => key.startsWith(`${RouteParamtypes.BODY}:`));
}
