import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/internal';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import type { Application, IRoute } from 'express';
import { EVERY_PATH } from '../request/request.js';

/** Adds a sentence to the 405 for the methods that the path of this handler does not allow. */
export const NotAllowedHint = Reflector.createDecorator<string>();

/** The properties of an Express router layer that this file reads. */
interface Layer {
  /** It serves every path, as the handler does that sends 404. */
  readonly slash: boolean;
  readonly route?: IRoute & { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** A path template, with what its routes have in common. */
interface KnownPath {
  /** The first of its layers. */
  readonly layer: Layer;
  readonly methods: Set<string>;
  hint: string;
}

/** A path template that matches only itself. */
const FIXED = /^[\w./~%-]*$/;

/**
 * What 404, 405 and `Allow` need: the methods and the hint of every path of all modules, and what packages
 * have mounted. It is read once from the router of Express, when all routes are registered.
 */
@Injectable()
export class RouteTable implements OnApplicationBootstrap {
  /** By path template. */
  private readonly paths = new Map<string, KnownPath>();
  /** The paths with parameters. */
  private patterns: readonly KnownPath[] = [];
  /** What packages have mounted in `onModuleInit`. */
  private mounted: readonly Layer[] = [];

  constructor(private readonly host: HttpAdapterHost) {}

  /** All routes are registered. Commands have no server. */
  onApplicationBootstrap(): void {
    const { httpAdapter } = this.host as Partial<HttpAdapterHost>;
    if (!httpAdapter) return;
    const { router } = httpAdapter.getInstance<Application>();
    const { stack } = router as unknown as { stack: Layer[] };
    for (const layer of stack) this.add(layer);
    const templates = [...this.paths].filter(([template]) => !FIXED.test(template));
    this.patterns = templates.map(([, known]) => known);
    const last = stack.findIndex(({ route }) => route?.path === EVERY_PATH);
    this.mounted = stack.slice(last + 1).filter(({ slash }) => !slash);
  }

  /**
   * Returns the methods of all routes at a path for `Allow` (RFC 9110, section 10.2.1), and their hint.
   * Returns null when no route matches.
   */
  find(path: string): { allow: string; hint: string } | null {
    const found = this.patterns.filter(({ layer }) => layer.match(path));
    const fixed = this.paths.get(path);
    if (fixed) found.unshift(fixed);
    if (found.length === 0) return null;
    const methods = new Set(found.flatMap((known) => [...known.methods]));
    if (methods.has('GET')) methods.add('HEAD');
    methods.add('OPTIONS');
    const hint = found.map((known) => known.hint).find((text) => text !== '') ?? '';
    return { allow: [...methods].join(', '), hint };
  }

  /** Returns whether a package has mounted something at a path. */
  isMounted(path: string): boolean {
    return this.mounted.some((layer) => layer.match(path));
  }

  private add(layer: Layer): void {
    const { path, methods = {}, stack: [first] = [] } = layer.route ?? {};
    // NestJS copies the metadata of a handler. Middleware of a feature has none.
    const isRoute =
      first !== undefined &&
      path !== undefined &&
      path !== EVERY_PATH &&
      Reflect.hasMetadata(PATH_METADATA, first.handle);
    if (!isRoute) return;
    const known = this.paths.get(path) ?? { layer, methods: new Set(), hint: '' };
    this.paths.set(path, known);
    for (const method of Object.keys(methods)) known.methods.add(method.toUpperCase());
    known.hint ||=
      (Reflect.getMetadata(NotAllowedHint.KEY, first.handle) as string | undefined) ?? '';
  }
}
