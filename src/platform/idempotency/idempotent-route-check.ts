import { RequestMethod } from '@nestjs/common';
import {
  METHOD_METADATA,
  RESPONSE_PASSTHROUGH_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
} from '@nestjs/common/internal';
import type { RouteHandler } from '../http/request/route-handlers.js';
import { ACCEPTS_KEY } from './idempotency-key.decorator.js';

/** Returns one line for each reason why a handler with `@IdempotencyKey()` cannot be retried. */
export function idempotencyProblems({ controller, name, method }: RouteHandler): string[] {
  if (!Reflect.hasMetadata(ACCEPTS_KEY, method)) return [];
  const problems: string[] = [];
  if (Reflect.getMetadata(METHOD_METADATA, method) === RequestMethod.GET) {
    problems.push('@IdempotencyKey() is not for GET, which changes nothing. Remove it.');
  }
  if (sendsItself(controller, name)) {
    problems.push(
      '@IdempotencyKey() excludes @Res() and @Next(): the response could not be stored. Return the result of Idempotency.once.',
    );
  }
  return problems.map((problem) => `${controller.name}.${name}: ${problem}`);
}

/** Returns whether NestJS leaves the response to the handler. */
function sendsItself(controller: object, name: string): boolean {
  if (Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, controller, name) === true) return false;
  const parameters: unknown = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name);
  const kinds = Object.keys(parameters ?? {}).map((key) => Number(key.split(':')[0]));
  return kinds.includes(RouteParamtypes.RESPONSE) || kinds.includes(RouteParamtypes.NEXT);
}
