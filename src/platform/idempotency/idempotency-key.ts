import {
  applyDecorators,
  createParamDecorator,
  type ExecutionContext,
  SetMetadata,
} from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { REQUEST_HEADERS } from '../http/request/headers.js';
import { requestOf } from '../http/request/request-context.js';
import type { Request } from '../http/request/request.js';

/** The key of a request. `Idempotency.once` announces with it that the response is a replay. */
export interface IdempotencyKey {
  toString(): string;
  announceReplay(): void;
}

/** The keys of the requests in progress. IdempotencyKeyGuard sets them. */
export const receivedKeys = new WeakMap<Request, IdempotencyKey>();

/** The metadata key of handlers with a parameter `@IdempotencyKey()`. */
export const ACCEPTS_KEY = 'accepts-idempotency-key';

const accept = applyDecorators(
  SetMetadata(ACCEPTS_KEY, true),
  ApiHeader(REQUEST_HEADERS.idempotencyKey),
);

/**
 * Passes the `Idempotency-Key` to a handler, undefined without the header, and describes the header
 * in the interface description. With a key, the handler returns the result of `Idempotency.once`.
 */
export const IdempotencyKey = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => receivedKeys.get(requestOf(context)),
  [
    (controller, name = '') =>
      accept(controller, name, Object.getOwnPropertyDescriptor(controller, name)),
  ],
);
