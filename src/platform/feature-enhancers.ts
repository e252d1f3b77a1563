import type { CanActivate, INestApplication, Type } from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  GUARDS_METADATA,
  INTERCEPTORS_METADATA,
  PIPES_METADATA,
} from '@nestjs/common/internal';
import { ApplicationConfig, DiscoveryService, ModulesContainer } from '@nestjs/core';
import type { Module } from '@nestjs/core/internal';
import { StartError } from './errors/start-error.js';
import { isPublished } from './http/openapi/decorators/published.decorator.js';
import { routeHandlers } from './http/request/route-handlers.js';
import type { Request } from './http/request/request.js';
import { InterceptedResult } from './http/response/intercepted-result.js';
import { ACCEPTS_KEY } from './idempotency/idempotency-key.decorator.js';
import { FILTER, GUARDS, PIPE } from './pipeline.js';

const METADATA = {
  Guard: GUARDS_METADATA,
  Interceptor: INTERCEPTORS_METADATA,
  Pipe: PIPES_METADATA,
  Filter: EXCEPTION_FILTERS_METADATA,
};
const PLATFORM: readonly unknown[] = [...GUARDS, PIPE, FILTER];
const RESULT = new InterceptedResult();

/** What `surround` has added to controllers, for any application of this process. */
const added = new WeakSet<object>([RESULT]);

/**
 * Applies each APP_INTERCEPTOR, APP_GUARD, APP_PIPE and APP_FILTER of a feature to controllers. NestJS
 * would apply it to all routes of the service. Call it before `app.init()`.
 *
 * @param features modules that import the features, or features
 * @throws StartError for an enhancer with the scope of a request
 */
export function scopeEnhancers(app: INestApplication, features: readonly Type[]): void {
  const config = app.get(ApplicationConfig);
  const modules = [...app.get(ModulesContainer).values()];
  const graph = new FeatureGraph(modules, features);
  for (const kind of Object.keys(METADATA) as (keyof typeof METADATA)[]) {
    const token = `APP_${kind.toUpperCase()}`;
    const [requestScoped] = config[`getGlobalRequest${kind}s`]();
    if (requestScoped) {
      throw new StartError(
        `${requestScoped.host?.name}: ${token} is request-scoped, which would slow down every route. Use @Use${kind}s() on a controller instead.`,
      );
    }
    config[`useGlobal${kind}s`] = () => {
      throw new StartError(`useGlobal${kind}s() has no effect. Provide ${token} in AppModule.`);
    };
    const enhancers: object[] = config[`getGlobal${kind}s`]();
    const scoped = new Map<Type, object[]>(graph.controllers.map((type) => [type, []]));
    for (const enhancer of new Set(enhancers.splice(0))) {
      if (PLATFORM.includes(enhancer.constructor)) enhancers.push(enhancer);
      else for (const type of graph.controllersFor(enhancer)) scoped.get(type)?.push(enhancer);
    }
    if (kind === 'Guard' && modules.some(({ name }) => name === 'GraphQLModule')) {
      enhancers.push(...(enhancers.splice(0) as CanActivate[]).map(outsideOfGraphql));
    }
    for (const [type, outer] of scoped) surround(METADATA[kind], type, outer, []);
  }
  for (const { controller, method } of routeHandlers(app.get(DiscoveryService))) {
    const outer = enhancersOf(INTERCEPTORS_METADATA, controller);
    const inner = enhancersOf(INTERCEPTORS_METADATA, method);
    if (!graph.controllers.includes(controller) || outer.length + inner.length === 0) continue;
    surround(INTERCEPTORS_METADATA, method, [], [RESULT]);
    if (outer.includes(RESULT) || !Reflect.hasMetadata(ACCEPTS_KEY, method)) continue;
    Reflect.defineMetadata(INTERCEPTORS_METADATA, [RESULT, ...outer], controller);
  }
}

/** The request to the path of GraphQL has passed the guards before its resolvers run. */
function outsideOfGraphql(guard: CanActivate): CanActivate {
  return {
    canActivate: (context) => {
      if (context.getType<string>() !== 'graphql') return guard.canActivate(context);
      return context.getArgByIndex<{ req?: Partial<Request> }>(2).req?.callerId !== undefined;
    },
  };
}

function enhancersOf(metadata: string, target: object): object[] {
  return (Reflect.getMetadata(metadata, target) ?? []) as object[];
}

/** Puts enhancers around those of the author. Replaces those of an earlier application. */
function surround(metadata: string, target: object, outer: object[], inner: object[]): void {
  const own = enhancersOf(metadata, target).filter((enhancer) => !added.has(enhancer));
  for (const enhancer of outer) added.add(enhancer);
  Reflect.defineMetadata(metadata, [...outer, ...own, ...inner], target);
}

/** Which controllers belong to which module. */
class FeatureGraph {
  /** The controllers of all features. */
  readonly controllers: Type[];
  private readonly roots: Module[];
  private readonly service: Module | undefined;

  constructor(
    private readonly modules: readonly Module[],
    features: readonly Type[],
  ) {
    this.roots = modules.filter(({ metatype }) => features.includes(metatype));
    this.service = modules.find(({ imports }) => this.roots.every((root) => imports.has(root)));
    this.controllers = this.controllersOf(this.roots, []);
  }

  /** Returns the controllers that an enhancer of a module applies to. */
  controllersFor(enhancer: object): Type[] {
    const owners = this.modules.filter(({ providers }) =>
      [...providers.values()].some(({ subtype, instance }) => subtype && instance === enhancer),
    );
    const types = owners.flatMap((owner) => this.ofModule(owner));
    return [...new Set(types)].filter((type) => !isPublished(type));
  }

  private ofModule(module: Module, seen = new Set<Module>()): Type[] {
    if (seen.has(module)) return [];
    seen.add(module);
    const isRoot = this.roots.includes(module);
    const others = isRoot ? [] : this.roots.flatMap((root) => [root, ...root.imports]);
    const own = this.controllersOf([module], others);
    if (own.length > 0) return own;
    // A package has no controllers. It serves the modules that import it.
    const importers = this.modules.filter(({ imports }) => imports.has(module));
    return importers.flatMap((importer) => this.ofModule(importer, seen));
  }

  /** Returns the controllers of modules and of what they import, except of `others`. */
  private controllersOf(modules: Module[], others: readonly Module[]): Type[] {
    const isOther = (module: Module) => module === this.service || others.includes(module);
    return [...reach(modules, (imported) => !isOther(imported))].flatMap(({ controllers }) =>
      [...controllers.values()].map(({ metatype }) => metatype as Type),
    );
  }
}

/** Returns modules and those that they import, as far as `follow` allows. */
export function reach(modules: readonly Module[], follow: (imported: Module) => boolean) {
  const reached = new Set(modules);
  for (const { imports } of reached) {
    for (const imported of imports) if (follow(imported)) reached.add(imported);
  }
  return reached;
}
