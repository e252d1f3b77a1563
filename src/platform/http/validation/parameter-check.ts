import { DefaultValuePipe, type Type, ValidationPipe } from '@nestjs/common';
import {
  PARAMTYPES_METADATA,
  PIPES_METADATA,
  ROUTE_ARGS_METADATA,
  RouteParamtypes,
} from '@nestjs/common/internal';
import { dtoProblems, isDto } from './dto-problems.js';

/** The parameter decorators that pass input of the client. */
const DECORATORS: Readonly<Record<string, string>> = {
  [RouteParamtypes.BODY]: '@Body',
  [RouteParamtypes.QUERY]: '@Query',
  [RouteParamtypes.PARAM]: '@Param',
  [RouteParamtypes.HEADERS]: '@Headers',
  [RouteParamtypes.HOST]: '@HostParam',
  [RouteParamtypes.COOKIES]: '@Cookies',
  [RouteParamtypes.SIGNED_COOKIES]: '@SignedCookies',
};

const USE_A_DTO =
  'Use a DTO class, imported as a value, with a property for a list. Or add a pipe.';
const USE_A_DECORATOR =
  'NestJS runs no pipe on it. Validate it in a decorator: createParamDecorator().';

/** The parameter decorators whose value this service never sets. */
const NEVER_SET: Readonly<Record<string, string>> = {
  [RouteParamtypes.SESSION]: '@Session',
  [RouteParamtypes.FILE]: '@UploadedFile',
  [RouteParamtypes.FILES]: '@UploadedFiles',
  [RouteParamtypes.RAW_BODY]: '@RawBody',
};

type Pipe = (object | Type) & { expectedType?: unknown };

type Parameters = Record<string, { index: number; data?: unknown; pipes?: readonly Pipe[] }>;

/**
 * Returns one line for each parameter of a handler that DtoValidationPipe would pass unvalidated or
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
      if (NEVER_SET[kind] !== undefined) {
        const reason = 'the service has no sessions and accepts only JSON bodies';
        return [`${controller.name}.${name}: ${NEVER_SET[kind]}() is undefined: ${reason}.`];
      }
      const isValidated = [...handlerPipes, ...pipes].some(validates);
      const problems = parameterProblems(DECORATORS[kind], data, types[index], isValidated);
      return problems.map((problem) => `${controller.name}.${name}: ${problem}`);
    },
  );
}

/** @param decorator undefined for the request, the response, and decorators of the author */
function parameterProblems(
  decorator: string | undefined,
  data: unknown,
  type: unknown,
  hasPipe: boolean,
): string[] {
  if (decorator === undefined) return [];
  const argument = typeof data === 'string' ? `'${data}'` : '';
  const unvalidated = `${decorator}(${argument}) is not validated`;
  if (decorator === '@Headers' || decorator === '@HostParam') {
    return [`${unvalidated}. ${USE_A_DECORATOR}`];
  }
  if (isDto(type)) return dtoProblems(type);
  // A segment of the path is always one string.
  if (hasPipe || (decorator === '@Param' && argument && type === String)) return [];
  const isClass = /^class\b/.test(String(type));
  const reason = isClass ? `: ${(type as Type).name} has no validation rule` : '';
  return [`${unvalidated}${reason}. ${USE_A_DTO}`];
}

/** Every pipe validates, except DefaultValuePipe and a ValidationPipe without `expectedType`. */
function validates(pipe: Pipe): boolean {
  const instance =
    typeof pipe === 'function' ? (Object.create(pipe.prototype as object) as object) : pipe;
  if (instance instanceof DefaultValuePipe) return false;
  return !(instance instanceof ValidationPipe) || pipe.expectedType !== undefined;
}
