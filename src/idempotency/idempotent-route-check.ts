import { Injectable, type OnModuleInit, RequestMethod } from '@nestjs/common';
import {
  METHOD_METADATA,
  RESPONSE_PASSTHROUGH_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
} from '@nestjs/common/internal';
import { DiscoveryService } from '@nestjs/core';
import { StartError } from '../errors/start-error.js';
import { type RouteHandler, routeHandlers } from '../http/request/route-handlers.js';
import { readKey } from './idempotency-key.decorator.js';
import { IDEMPOTENT } from './idempotent.decorator.js';

/** Stops the start when the decorators of a handler promise a safe retry that it cannot provide. */
@Injectable()
export class IdempotentRouteCheck implements OnModuleInit {
  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws StartError with one line for each problem */
  onModuleInit(): void {
    const problems = routeHandlers(this.discovery).flatMap(idempotencyProblems);
    if (problems.length > 0) throw new StartError(problems.join('\n'));
  }
}

/** Returns what is wrong with the idempotency of a handler, one line for each problem. */
export function idempotencyProblems({ controller, name, method }: RouteHandler): string[] {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<
    string,
    { factory?: unknown }
  >;
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
