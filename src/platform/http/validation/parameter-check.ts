import {
  DefaultValuePipe,
  StandardSchemaValidationPipe,
  type Type,
  ValidationPipe,
  type ValidationPipeOptions,
} from '@nestjs/common';
import {
  INTERCEPTORS_METADATA,
  PARAMTYPES_METADATA,
  PATH_METADATA,
  PIPES_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
} from '@nestjs/common/internal';
import { STRICT_DTOS } from './dto-validation.pipe.js';
import { dtoProblems } from './dto-problems.js';
import { isDto } from './dto-rules.js';

const NO_PIPE =
  'is not validated. NestJS runs no pipe on it. Validate it in a decorator: createParamDecorator().';
const NO_SESSION =
  'is undefined: the service has no sessions. Run middleware with @UseMiddleware(), and read what it sets from @Req().';
const NO_RAW_BODY =
  'is undefined: the service keeps no raw bodies. Read @Req() as a stream, without @Body(): `await buffer(request)` of node:stream/consumers.';
const UNUSED_SCHEMA =
  'no pipe reads the schema of a parameter. Add `pipes: [StandardSchemaValidationPipe]` to its options.';
const FILES = [`${RouteParamtypes.FILE}`, `${RouteParamtypes.FILES}`];

/** The decorators that pass input of the client, and why some of them cannot be used. */
const DECORATORS: Readonly<Record<string, readonly [name: string, problem?: string]>> = {
  [RouteParamtypes.BODY]: ['@Body'],
  [RouteParamtypes.QUERY]: ['@Query'],
  [RouteParamtypes.PARAM]: ['@Param'],
  [RouteParamtypes.COOKIES]: ['@Cookies'],
  [RouteParamtypes.SIGNED_COOKIES]: ['@SignedCookies'],
  [RouteParamtypes.HEADERS]: ['@Headers', NO_PIPE],
  [RouteParamtypes.HOST]: ['@HostParam', NO_PIPE],
  [RouteParamtypes.SESSION]: ['@Session', NO_SESSION],
  [RouteParamtypes.RAW_BODY]: ['@RawBody', NO_RAW_BODY],
};

type Pipe = (object | Type) & { expectedType?: unknown };

interface Parameter {
  index: number;
  data?: unknown;
  pipes?: readonly Pipe[];
  /** A Standard Schema, such as one of zod. */
  schema?: unknown;
}
type Parameters = Record<string, Parameter>;

/**
 * Returns one line for each parameter of a handler that DtoValidationPipe would pass unvalidated or
 * with missing properties. NestJS does so silently when it knows no DTO class for the parameter.
 */
export function handlerProblems(controller: Type, name: string): string[] {
  const prototype = controller.prototype as Record<string, object>;
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) as unknown;
  const types = (Reflect.getMetadata(PARAMTYPES_METADATA, prototype, name) ?? []) as unknown[];
  const metadata = (key: string): Pipe[] =>
    [controller, prototype[name] ?? {}].flatMap(
      (target) => (Reflect.getMetadata(key, target) ?? []) as Pipe[],
    );
  return Object.entries((parameters ?? {}) as Parameters).flatMap(
    ([key, { index, data, pipes = [], schema }]) => {
      const [kind = ''] = key.split(':');
      const allPipes = [...metadata(PIPES_METADATA), ...pipes];
      const type = types[index];
      if (isDto(type) && allPipes.some(forbidsOthers)) STRICT_DTOS.add(type);
      const hasPipe = allPipes.some((pipe) => validates(pipe, schema));
      const problems = FILES.includes(kind)
        ? fileProblems(metadata(INTERCEPTORS_METADATA))
        : schema !== undefined && !hasPipe
          ? [UNUSED_SCHEMA]
          : parameterProblems(kind, data, type, hasPipe, isWildcard(prototype[name], data));
      return problems.map((problem) => `${controller.name}.${name}: ${problem}`);
    },
  );
}

/** Express passes the segments of a path that a wildcard matches as a list: `@Get('files/*path')`. */
function isWildcard(method: object | undefined, data: unknown): boolean {
  const paths = [Reflect.getMetadata(PATH_METADATA, method ?? {}) as unknown].flat();
  return paths.some((path) => String(path).includes(`*${String(data)}`));
}

function fileProblems(interceptors: readonly object[]): string[] {
  if (interceptors.length > 0) return [];
  return ['@UploadedFile() is undefined without @UseInterceptors(FileInterceptor(…)).'];
}

function parameterProblems(
  kind: string,
  data: unknown,
  type: unknown,
  hasPipe: boolean,
  isSegments: boolean,
): string[] {
  const [decorator, problem] = DECORATORS[kind] ?? [];
  // The request, the response, and decorators of the author.
  if (decorator === undefined) return [];
  const argument = typeof data === 'string' ? `'${data}'` : '';
  if (problem !== undefined) return [`${decorator}(${argument}) ${problem}`];
  if (isDto(type)) return dtoProblems(type);
  const isSegment = decorator === '@Param' && argument !== '';
  if (isSegment && isSegments && type === String)
    return [`@Param(${argument}) is a list of path segments. Declare it as string[].`];
  if (hasPipe || (isSegment && type === (isSegments ? Array : String))) return [];
  const isClass = /^class\b/.test(String(type));
  const reason = isClass ? `: ${(type as Type).name} has no validation rule` : '';
  return [
    `${decorator}(${argument}) is not validated${reason}. Use a DTO class, imported as a value, with a property for a list. Or add a pipe.`,
  ];
}

/** DtoValidationPipe runs first and removes the members that a ValidationPipe would reject. */
function forbidsOthers(pipe: Pipe): boolean {
  const { validatorOptions } = pipe as { validatorOptions?: ValidationPipeOptions };
  return pipe instanceof ValidationPipe && validatorOptions?.forbidNonWhitelisted === true;
}

/**
 * Every pipe validates, except DefaultValuePipe, a ValidationPipe without `expectedType`, and a
 * StandardSchemaValidationPipe without a schema.
 */
function validates(pipe: Pipe, schema: unknown): boolean {
  // The prototype of a class is no instance of it.
  const instance: unknown =
    typeof pipe === 'function' ? Object.create(pipe.prototype as object) : pipe;
  if (instance instanceof DefaultValuePipe) return false;
  if (instance instanceof StandardSchemaValidationPipe) return schema !== undefined;
  return !(instance instanceof ValidationPipe) || pipe.expectedType !== undefined;
}
