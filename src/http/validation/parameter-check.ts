import {
  DefaultValuePipe,
  Injectable,
  type OnModuleInit,
  type Type,
  ValidationPipe as NestValidationPipe,
} from '@nestjs/common';
import {
  PARAMTYPES_METADATA,
  PIPES_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
} from '@nestjs/common/internal';
import { DiscoveryService } from '@nestjs/core';
import { StartError } from '../../errors/start-error.js';
import { routeHandlers } from '../request/route-handlers.js';
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

/** The parameter decorators whose value this service never sets. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  [RouteParamtypes.SESSION]: '@Session() is undefined: the service has no sessions.',
  [RouteParamtypes.FILE]: '@UploadedFile() is undefined: the service accepts only JSON bodies.',
  [RouteParamtypes.FILES]: '@UploadedFiles() is undefined: the service accepts only JSON bodies.',
  [RouteParamtypes.RAW_BODY]: '@RawBody() is undefined: the service accepts only JSON bodies.',
};

type Pipe = object & { expectedType?: unknown };

interface Parameter {
  index: number;
  data?: unknown;
  pipes?: readonly Pipe[];
}

/**
 * Stops the start when a handler has a parameter that the ValidationPipe would pass unvalidated or
 * with missing properties. NestJS does so silently when it knows no DTO class for the parameter.
 */
@Injectable()
export class ParameterCheck implements OnModuleInit {
  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws StartError with one line for each problem */
  onModuleInit(): void {
    const problems = routeHandlers(this.discovery).flatMap(({ controller, name }) =>
      handlerProblems(controller, name),
    );
    if (problems.length > 0) throw new StartError([...new Set(problems)].join('\n'));
  }
}

/** Returns what is wrong with the parameters of a handler, one line for each problem. */
export function handlerProblems(controller: Type, name: string): string[] {
  const prototype = controller.prototype as Record<string, object>;
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<
    string,
    Parameter
  >;
  const types = (Reflect.getMetadata(PARAMTYPES_METADATA, prototype, name) ?? []) as unknown[];
  const handlerPipes = [controller, prototype[name] ?? {}].flatMap(
    (target) => (Reflect.getMetadata(PIPES_METADATA, target) ?? []) as Pipe[],
  );
  return Object.entries(parameters).flatMap(([key, { index, data, pipes = [] }]) => {
    const [kind = ''] = key.split(':');
    const type = types[index];
    const hasPipe = [...handlerPipes, ...pipes].some(validates) && isPipeable(kind);
    return parameterProblems(kind, data, type, hasPipe).map(
      (problem) => `${controller.name}.${name}: ${problem}`,
    );
  });
}

function parameterProblems(kind: string, data: unknown, type: unknown, hasPipe: boolean): string[] {
  if (UNSUPPORTED[kind] !== undefined) return [UNSUPPORTED[kind]];
  const decorator = DECORATORS[kind];
  // The request, the response, and what the author's own decorators return.
  if (!decorator) return [];
  if (isPipeable(kind) && isDto(type)) return dtoProblems(type);
  // A segment of the path is always one string.
  if (kind === String(RouteParamtypes.PARAM) && typeof data === 'string' && type === String)
    return [];
  if (hasPipe) return [];
  const argument = typeof data === 'string' ? `'${data}'` : '';
  const reason = isClass(type) ? `: ${type.name} has no validation rule` : '';
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

/** Returns whether a parameter type is a class of the author. */
function isClass(type: unknown): type is Type {
  return typeof type === 'function' && /^class\b/.test(Function.prototype.toString.call(type));
}
