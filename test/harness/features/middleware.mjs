// @ts-check
// A feature with middleware before and after the guards, and paths that a package mounts.
import { Controller, ForbiddenException, Get, Module, RequestMethod } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import express from 'express';
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

class WaresController {
  list() {
    return [];
  }
}
decorate(WaresController, 'list', Get());
Controller({ path: 'wares', version: '1' })(WaresController);

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
Module({ controllers: [WaresController] })(WaresModule);

export default [WaresModule];
