// @ts-check
// A feature with middleware before and after the guards, and paths that a package mounts.
import { Controller, ForbiddenException, Get, Module, RequestMethod } from '@nestjs/common';
import { ExternalContextCreator, HttpAdapterHost } from '@nestjs/core';
import express from 'express';
import { UseMiddleware } from '#dist/platform/http/routing/use-middleware.js';
import { decorate } from './decorate.mjs';

/** @typedef {import('express').RequestHandler} Handler */

/** @type {Handler} Rejects a request in the ways of middleware, and otherwise adds a header. */
function before(request, response, next) {
  switch (request.headers['x-reject']) {
    case 'exception':
      throw new ForbiddenException('Not from here.');
    case 'http-errors':
      return next(
        Object.assign(new Error('Invalid token.'), { expose: true, status: 403, statusCode: 403 }),
      );
    case 'private':
      return next(
        Object.assign(new Error('secret'), { expose: false, status: 502, statusCode: 502 }),
      );
    case 'response':
      return void response.status(403).json({ own: true });
    default:
      response.setHeader('X-Before', 'yes');
      next();
  }
}

/** @type {Handler} */
function after(request, response, next) {
  if (request.headers['x-reject'] === 'after') return next(new ForbiddenException('Not now.'));
  response.setHeader('X-After', request.caller?.kind ?? 'none');
  next();
}

class WaresController {
  list() {
    return [];
  }
}
decorate(WaresController, 'list', Get(), UseMiddleware(after));
Controller({ path: 'wares', version: '1' })(WaresController);

class WaresResolver {
  wares() {
    return ['Rope'];
  }
  fail() {
    throw new Error('secret');
  }
}

/** Mounts a path whose resolvers run with the global guards and filters, as that of @nestjs/graphql. */
class GraphQLModule {
  /** @param {HttpAdapterHost} host @param {ExternalContextCreator} creator */
  constructor(host, creator) {
    this.host = host;
    this.creator = creator;
  }
  onModuleInit() {
    const resolver = new WaresResolver();
    /** @param {string} name */
    const create = (name) =>
      this.creator.create(
        resolver,
        /** @type {(...args: unknown[]) => unknown} */ (Reflect.get(resolver, name)),
        name,
        undefined,
        undefined,
        undefined,
        undefined,
        { guards: true, filters: true, interceptors: true },
        'graphql',
      );
    const resolvers = { wares: create('wares'), fail: create('fail') };
    /** @type {import('express').Express} */
    const app = this.host.httpAdapter.getInstance();
    app.post('/graphql', async (req, response) => {
      const { field, subscription } = req.body;
      const context = subscription ? {} : { req };
      /** @type {unknown} */
      const data = await resolvers[/** @type {'wares'} */ (field)](undefined, {}, context, {});
      response.json(data instanceof Error ? { error: data.message } : { data });
    });
  }
}
Reflect.defineMetadata(
  'design:paramtypes',
  [HttpAdapterHost, ExternalContextCreator],
  GraphQLModule,
);
Module({})(GraphQLModule);

/** Mounts paths as ServeStaticModule does. */
class WaresModule {
  /** @param {HttpAdapterHost} host */
  constructor(host) {
    this.host = host;
  }
  /** @param {import('@nestjs/common').MiddlewareConsumer} consumer */
  configure(consumer) {
    consumer.apply(before).forRoutes({ path: '{*path}', method: RequestMethod.ALL });
  }
  onModuleInit() {
    /** @type {import('express').Express} */
    const app = this.host.httpAdapter.getInstance();
    app.use('/files', express.static(import.meta.dirname));
    app.get('/pages{/*path}', (_request, response) => {
      response.type('html').send('<p>Wares');
    });
  }
}
Reflect.defineMetadata('design:paramtypes', [HttpAdapterHost], WaresModule);
Module({ imports: [GraphQLModule], controllers: [WaresController] })(WaresModule);

export default [WaresModule];
