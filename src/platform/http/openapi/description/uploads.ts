import type { INestApplication, Type } from '@nestjs/common';
import { PARAMTYPES_METADATA, ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import {
  ApiBody,
  ApiConsumes,
  ApiExtraModels,
  DECORATORS,
  getSchemaPath,
  type SchemaObject,
} from '@nestjs/swagger';
import { routeHandlers, type RouteHandler } from '../../request/route-handlers.js';
import { isDto } from '../../validation/dto-rules.js';

export const UPLOAD_TYPE = 'multipart/form-data';

const BODY: number = RouteParamtypes.BODY;

/** NestJS does not tell which part an interceptor takes a file from. */
const FILES: SchemaObject = {
  type: 'object',
  additionalProperties: { type: 'string', format: 'binary' },
};

/**
 * Describes the bodies of handlers with `@UploadedFile()` or `@UploadedFiles()`, for which
 * @nestjs/swagger describes JSON or nothing. Keeps `@ApiBody()` and `@ApiConsumes()`.
 */
export function describeUploads(app: INestApplication): void {
  for (const handler of routeHandlers(new DiscoveryService(app.get(ModulesContainer)))) {
    const [kinds, body] = inputOf(handler);
    if (!kinds.includes(RouteParamtypes.FILE) && !kinds.includes(RouteParamtypes.FILES)) continue;
    const { method } = handler;
    const declared = (Reflect.getMetadata(DECORATORS.API_PARAMETERS, method) ?? []) as object[];
    const hasBody = declared.some((parameter) => 'in' in parameter && parameter.in === 'body');
    const decorators = [
      ...(Reflect.hasMetadata(DECORATORS.API_CONSUMES, method) ? [] : [ApiConsumes(UPLOAD_TYPE)]),
      ...(hasBody ? [] : [ApiBody({ required: true, schema: schemaOf(body) })]),
      ...(isDto(body) ? [ApiExtraModels(body)] : []),
    ];
    for (const apply of decorators) apply(method, handler.name, { value: method });
  }
}

function schemaOf(body: unknown): SchemaObject {
  return isDto(body) ? { allOf: [{ $ref: getSchemaPath(body) }, FILES] } : FILES;
}

/** Returns the kinds of a handler's parameters, and the class of its `@Body()`. */
function inputOf({ controller, name }: RouteHandler): [kinds: number[], body: Type | undefined] {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as object;
  const prototype = controller.prototype as object;
  const types = (Reflect.getMetadata(PARAMTYPES_METADATA, prototype, name) ?? []) as Type[];
  const entries = Object.entries(parameters as Record<string, { index: number; data?: unknown }>);
  const body = entries.find(([key, { data }]) => kindOf(key) === BODY && data === undefined);
  return [entries.map(([key]) => kindOf(key)), body && types[body[1].index]];
}

/** NaN for a decorator of a feature, whose key begins with random characters. */
function kindOf(key: string): number {
  return Number(key.split(':')[0]);
}
