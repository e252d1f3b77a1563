import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { Settings } from '../../config/settings.js';
import { perRoute, requestOf, responseOf } from '../request/request-context.js';
import type { Request, Response } from '../request/request.js';
import { Decompression } from './decompression.js';
import { parseJson } from './parse-json.js';
import { readJsonBody } from './read-body.js';

/**
 * Reads and parses the body for handlers with a `@Body()` parameter. Express's body parser would
 * run before the guards. This guard runs after the rate limit and the API key check, so that the
 * service never reads the body of a request that they reject. It rejects a body that is not JSON.
 */
@Injectable()
export class JsonBodyGuard implements CanActivate {
  private readonly decompression: Decompression;

  constructor({ bounds }: Settings) {
    this.decompression = new Decompression(bounds.maxDecompressions);
  }

  /** @throws ServiceError unsupported_media_type, payload_too_large or malformed_json */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = requestOf(context);
    const startedAt = performance.now();
    if (hasBodyParameter(context)) await this.readBody(request, responseOf(context));
    request.startResponseDeadline(performance.now() - startedAt);
    return true;
  }

  private async readBody(request: Request, response: Response): Promise<void> {
    // While a slow client sends its body, another request can use the slot.
    request.slot?.release();
    const bytes = await readJsonBody(request, response, this.decompression);
    request.slot?.reacquire();
    request.body = bytes && parseJson(bytes);
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
