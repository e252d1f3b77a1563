import { DefaultValuePipe, type Type, ValidationPipe as NestValidationPipe } from '@nestjs/common';
import {
  PARAMTYPES_METADATA,
  PIPES_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
} from '@nestjs/common/internal';
import { dtoProblems, isDto } from './dto-problems.js';

/** The parameter decorators that pass input of the client, and what to write instead. */
const DECORATORS: Readonly<Record<string, { name: string; advice: string }>> = {
  [RouteParamtypes.BODY]: {
    name: '@Body',
    advice:
      'Use a DTO class, imported as a value: @Body() body: NewItem. Use a property for a list.',
  },
  [RouteParamtypes.QUERY]: {
    name: '@Query',
    advice: "Use a DTO class: @Query() query: ListItemsQuery. Or add a pipe: @Query('name', …).",
  },
  [RouteParamtypes.PARAM]: {
    name: '@Param',
    advice: "Add a pipe: @Param('itemId', new Int64Pipe(itemNotFound)). Or use a DTO class.",
  },
  [RouteParamtypes.HEADERS]: {
    name: '@Headers',
    advice: 'NestJS runs no pipe on headers. Validate it in a decorator: createParamDecorator().',
  },
  [RouteParamtypes.HOST]: {
    name: '@HostParam',
    advice: 'Validate it in a decorator: createParamDecorator().',
  },
  [RouteParamtypes.COOKIES]: { name: '@Cookies', advice: 'Add a pipe.' },
  [RouteParamtypes.SIGNED_COOKIES]: { name: '@SignedCookies', advice: 'Add a pipe.' },
};

const ONLY_JSON = 'is undefined: the service accepts only JSON bodies.';

/** The parameter decorators whose value this service never sets. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  [RouteParamtypes.SESSION]: '@Session() is undefined: the service has no sessions.',
  [RouteParamtypes.FILE]: `@UploadedFile() ${ONLY_JSON}`,
  [RouteParamtypes.FILES]: `@UploadedFiles() ${ONLY_JSON}`,
  [RouteParamtypes.RAW_BODY]: `@RawBody() ${ONLY_JSON}`,
};

type Pipe = object & { expectedType?: unknown };

type Parameters = Record<string, { index: number; data?: unknown; pipes?: readonly Pipe[] }>;

/**
 * Returns one line for each parameter of a handler that the ValidationPipe would pass unvalidated or
 * with missing properties. NestJS does so silently when it knows no DTO class for the parameter.
 */
export function handlerProblems(controller: Type, name: string): string[] {
  const prototype = controller.prototype as Record<string, object>;
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) as unknown;
  const types = (Reflect.getMetadata(PARAMTYPES_METADATA, prototype, name) ?? []) as unknown[];
  const handlerPipes = [controller, prototype[name] ?? {}].flatMap(
    (target) => (Reflect.getMetadata(PIPES_METADATA, target) ?? []) as Pipe[],
  );
  return Object.entries((parameters ?? {}) as Parameters).flatMap(
    ([key, { index, data, pipes = [] }]) => {
      const [kind = ''] = key.split(':');
      const isValidated = [...handlerPipes, ...pipes].some(validates);
      const problems = parameterProblems(kind, data, types[index], isValidated);
      return problems.map((problem) => `${controller.name}.${name}: ${problem}`);
    },
  );
}

function parameterProblems(kind: string, data: unknown, type: unknown, hasPipe: boolean): string[] {
  if (UNSUPPORTED[kind] !== undefined) return [UNSUPPORTED[kind]];
  const decorator = DECORATORS[kind];
  // The request, the response, and what the author's own decorators return.
  if (!decorator) return [];
  if (isPipeable(kind) && isDto(type)) return dtoProblems(type);
  if (isPipeable(kind) && hasPipe) return [];
  const argument = typeof data === 'string' ? `'${data}'` : '';
  // A segment of the path is always one string.
  if (decorator.name === '@Param' && argument && type === String) return [];
  const isClass = /^class\b/.test(String(type));
  const reason = isClass ? `: ${(type as Type).name} has no validation rule` : '';
  return [`${decorator.name}(${argument}) is not validated${reason}. ${decorator.advice}`];
}

/** NestJS runs pipes on these. */
function isPipeable(kind: string): boolean {
  return kind !== String(RouteParamtypes.HEADERS) && kind !== String(RouteParamtypes.HOST);
}

/** Every pipe validates, except DefaultValuePipe and a ValidationPipe without `expectedType`. */
function validates(pipe: Pipe): boolean {
  const type = typeof pipe === 'function' ? (pipe as Type) : (pipe.constructor as Type);
  if (type === DefaultValuePipe) return false;
  const isNestPipe = type === NestValidationPipe || type.prototype instanceof NestValidationPipe;
  return !isNestPipe || pipe.expectedType !== undefined;
}
