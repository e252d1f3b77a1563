import { RequestMethod } from '@nestjs/common';
import {
  METHOD_METADATA,
  RESPONSE_PASSTHROUGH_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
} from '@nestjs/common/internal';
import type { RouteHandler } from '../http/request/route-handlers.js';
import { readKey } from './idempotency-key.decorator.js';
import { IDEMPOTENT } from './idempotent.decorator.js';

/** Returns one line for each reason why a handler does not provide the retry that it promises. */
export function idempotencyProblems({ controller, name, method }: RouteHandler): string[] {
  const metadata: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name);
  const parameters = (metadata ?? {}) as Record<string, { factory?: unknown }>;
  const getsKey = Object.values(parameters).some(({ factory }) => factory === readKey);
  const problems: string[] = [];
  if (!Reflect.hasMetadata(IDEMPOTENT, method)) {
    if (getsKey) problems.push('@IdempotencyKey() requires @Idempotent() on the handler.');
  } else {
    if (!getsKey) {
      problems.push(
        '@Idempotent() requires a parameter @IdempotencyKey() idempotencyKey?: string. Pass it to Idempotency.once.',
      );
    }
    if (Reflect.getMetadata(METHOD_METADATA, method) === RequestMethod.GET) {
      problems.push('@Idempotent() is not for GET, which changes nothing. Remove it.');
    }
    if (sendsItself(parameters, controller, name)) {
      problems.push(
        '@Idempotent() excludes @Res() and @Next(): the response could not be stored. Return the result of Idempotency.once.',
      );
    }
  }
  return problems.map((problem) => `${controller.name}.${name}: ${problem}`);
}

/** Returns whether NestJS leaves the response to the handler. */
function sendsItself(parameters: object, controller: object, name: string): boolean {
  if (Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, controller, name) === true) return false;
  const kinds = Object.keys(parameters).map((key) => key.split(':')[0]);
  return [RouteParamtypes.RESPONSE, RouteParamtypes.NEXT].some((kind) =>
    kinds.includes(String(kind)),
  );
}
