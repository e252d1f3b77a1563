import type { INestApplication, Type } from '@nestjs/common';
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
import { PageItems } from './http/response/page-items.js';
import { ACCEPTS_KEY } from './idempotency/idempotency-key.decorator.js';
import { StoredResult } from './idempotency/stored-result.js';
import { FILTER, GUARDS, PIPE } from './pipeline.js';

const PLATFORM: readonly unknown[] = [...GUARDS, PIPE, FILTER];
const PAGE_ITEMS = new PageItems();
const STORED_RESULT = new StoredResult();

/** What `surround` has added to controllers, for any application of this process. */
const added = new WeakSet<object>([PAGE_ITEMS, STORED_RESULT]);

/**
 * Applies each APP_INTERCEPTOR, APP_GUARD, APP_PIPE and APP_FILTER of a feature to controllers. NestJS
 * would apply it to all routes of the service. Call it before `app.init()`.
 *
 * @param features modules that import the features, or features
 * @throws StartError for an enhancer that would still apply to all routes
 */
export function scopeEnhancers(app: INestApplication, features: readonly Type[]): void {
  const config = app.get(ApplicationConfig);
  const kinds = [
    ['Guard', GUARDS_METADATA, config.getGlobalGuards(), config.getGlobalRequestGuards()],
    [
      'Interceptor',
      INTERCEPTORS_METADATA,
      config.getGlobalInterceptors(),
      config.getGlobalRequestInterceptors(),
    ],
    ['Pipe', PIPES_METADATA, config.getGlobalPipes(), config.getGlobalRequestPipes()],
    [
      'Filter',
      EXCEPTION_FILTERS_METADATA,
      config.getGlobalFilters(),
      config.getGlobalRequestFilters(),
    ],
  ] as const;
  const graph = new FeatureGraph([...app.get(ModulesContainer).values()], features);
  for (const [kind, metadata, enhancers, [requestScoped]] of kinds) {
    const token = `APP_${kind.toUpperCase()}`;
    if (requestScoped) {
      throw new StartError(
        `${requestScoped.host?.name}: ${token} is request-scoped, which would slow down every route. Use @Use${kind}s() on a controller instead.`,
      );
    }
    app[`useGlobal${kind}s`] = () => {
      throw new StartError(`useGlobal${kind}s() has no effect. Provide ${token} in AppModule.`);
    };
    const scoped = new Map<Type, object[]>(graph.controllers.map((type) => [type, []]));
    for (const enhancer of new Set<object>(enhancers.splice(0))) {
      if (PLATFORM.includes(enhancer.constructor)) (enhancers as object[]).push(enhancer);
      else for (const type of graph.controllersFor(enhancer)) scoped.get(type)?.push(enhancer);
    }
    for (const [type, outer] of scoped) surround(metadata, type, outer, []);
  }
  carryResults(app, graph.controllers);
}

/** Lets pages and stored responses pass the interceptors of a route. */
function carryResults(app: INestApplication, controllers: readonly Type[]): void {
  for (const { controller, method } of routeHandlers(app.get(DiscoveryService))) {
    const outer = enhancersOf(INTERCEPTORS_METADATA, controller);
    const inner = enhancersOf(INTERCEPTORS_METADATA, method);
    if (!controllers.includes(controller) || outer.length + inner.length === 0) continue;
    const stored = Reflect.hasMetadata(ACCEPTS_KEY, method) ? [STORED_RESULT] : [];
    surround(INTERCEPTORS_METADATA, method, [], [PAGE_ITEMS, ...stored]);
    if (outer.includes(STORED_RESULT)) continue;
    Reflect.defineMetadata(INTERCEPTORS_METADATA, [...stored, ...outer], controller);
  }
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
    const others = this.roots.includes(module)
      ? []
      : this.roots.flatMap((root) => [root, ...root.imports]);
    const own = this.controllersOf([module], others);
    if (own.length > 0) return own;
    // A package has no controllers. It serves the modules that import it.
    const importers = this.modules.filter(({ imports }) => imports.has(module));
    return importers.flatMap((importer) => this.ofModule(importer, seen));
  }

  /** Returns the controllers of modules and of what they import, except of `others`. */
  private controllersOf(modules: Module[], others: readonly Module[]): Type[] {
    const reached = new Set(modules);
    for (const { imports } of reached) {
      for (const imported of imports) {
        if (imported !== this.service && !others.includes(imported)) reached.add(imported);
      }
    }
    return [...reached].flatMap(({ controllers }) =>
      [...controllers.values()].map(({ metatype }) => metatype as Type),
    );
  }
}
