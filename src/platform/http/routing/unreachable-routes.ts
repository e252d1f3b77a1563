import { HOST_METADATA, ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal';
import type { RouteHandler } from '../request/route-handlers.js';
import type { RouteLayer } from './allowed-methods.js';

const PARAM: number = RouteParamtypes.PARAM;
const NEXT: number = RouteParamtypes.NEXT;

/** NestJS copies the metadata of a method to the function that it registers with Express. */
const HANDLER = 'handler';

/** A parameter or a wildcard in a path of Express. */
const PARAMETER = /[:*]("[^"]+"|[\w$]+)/g;

interface Route {
  readonly path: string;
  readonly methods: readonly string[];
  readonly layer: RouteLayer;
  readonly handler: RouteHandler;
}

/** Lets `routingProblems` find the handlers. Call it before the routes are registered. */
export function labelHandlers(handlers: readonly RouteHandler[]): void {
  for (const handler of handlers) Reflect.defineMetadata(HANDLER, handler, handler.method);
}

/**
 * Returns a line for each `@Param()` that no path of its handler has, and for each route that gets
 * no request because an earlier one matches the same paths.
 *
 * @param stack the layers of the router of Express, with the routes of all modules
 */
export function routingProblems(stack: readonly RouteLayer[]): string[] {
  const routes = stack.flatMap((layer): Route[] => {
    const { path, methods, stack: handles } = layer.route ?? {};
    const handle = handles?.[0]?.handle as object | undefined;
    const handler = handle && (Reflect.getMetadata(HANDLER, handle) as RouteHandler | undefined);
    if (!handler || typeof path !== 'string') return [];
    return [{ path, methods: Object.keys(methods ?? {}), layer, handler }];
  });
  return [...routes.flatMap((route) => parameterProblems(route, routes)), ...unreachable(routes)];
}

function parameterProblems({ handler }: Route, routes: readonly Route[]): string[] {
  const paths = routes.filter((route) => route.handler === handler).map(({ path }) => path);
  const names = paths.flatMap((path) => path.match(PARAMETER) ?? []);
  return argumentsOf(handler)
    .filter(({ kind, data }) => kind === PARAM && typeof data === 'string')
    .map(({ data }) => String(data))
    .filter((name) => !names.some((each) => each.slice(1).replaceAll('"', '') === name))
    .map(
      (name) =>
        `${labelOf(handler)}: @Param('${name}') is undefined, because the path is ${paths.join(' or ')}. Use the name of one of its parameters.`,
    );
}

/** NestJS sorts routes by how specific they are. Those that match the same paths remain. */
function unreachable(routes: readonly Route[]): string[] {
  return routes.flatMap(({ path, methods, handler }, index) => {
    const sample = samplePath(path);
    if (sample === undefined) return [];
    const first = routes
      .slice(0, index)
      .filter((earlier) => !passesOn(earlier.handler) && earlier.layer.match(sample))
      .find((earlier) => methods.every((method) => earlier.methods.includes(method)));
    if (!first) return [];
    const method = methods.length > 1 ? 'ALL' : methods.join('').toUpperCase();
    return [
      `${labelOf(handler)}: ${method} ${path} is never reached, because ${labelOf(first.handler)} serves ${method} ${first.path}. Change the path of one of them.`,
    ];
  });
}

/** Returns a path that only parameters match at the parameters of this one. */
function samplePath(path: string): string | undefined {
  // A path with an optional group can still serve the requests without it.
  if (path.includes('{')) return undefined;
  return path.replace(PARAMETER, (name) => (name.startsWith('*') ? '~/~/~/~/~/~/~/~' : '~'));
}

/** Returns whether a handler may leave a request to a later route. */
function passesOn(handler: RouteHandler): boolean {
  const usesNext = argumentsOf(handler).some(({ kind }) => kind === NEXT);
  return usesNext || Reflect.getMetadata(HOST_METADATA, handler.controller) !== undefined;
}

function argumentsOf({ controller, name }: RouteHandler): { kind: number; data: unknown }[] {
  const metadata = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as object;
  return Object.entries(metadata as Record<string, { data?: unknown }>).map(([key, { data }]) => ({
    kind: parseInt(key),
    data,
  }));
}

function labelOf({ controller, name }: RouteHandler): string {
  return `${controller.name}.${name}`;
}
