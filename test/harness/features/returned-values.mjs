// @ts-check
// Handlers that return each kind of value, or send the response themselves.
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import {
  ConflictException,
  Controller,
  Get,
  Header,
  HttpCode,
  Post,
  Redirect,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { of } from 'rxjs';
import { feature } from './decorate.mjs';

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its methods are defined below
class ValuesController {}

const HTML = '<script>alert("x")</script>';

/** @type {Record<string, { handle: Function, decorators?: MethodDecorator[] }>} */
const ROUTES = {
  text: { handle: () => HTML },
  'typed-text': { handle: () => HTML, decorators: [Header('Content-Type', 'text/html')] },
  csv: { handle: () => Buffer.from('a,b\n'), decorators: [Header('Content-Type', 'text/csv')] },
  'empty-csv': { handle: () => '', decorators: [Header('Content-Type', 'text/csv')] },
  'no-csv': {
    handle: () => {
      throw new ConflictException('No sales.');
    },
    decorators: [Header('Content-Type', 'text/csv')],
  },
  empty: { handle: () => '' },
  number: { handle: () => 1.5 },
  boolean: { handle: () => false },
  bigint: { handle: () => 9007199254740993n },
  null: { handle: () => null },
  array: { handle: () => [1n, 'a'] },
  object: { handle: () => ({ id: 9223372036854775807n }) },
  promise: { handle: () => Promise.resolve('later') },
  observable: { handle: () => of('first', 'last') },
  nothing: { handle: () => undefined },
  'no-content': { handle: () => ({ ignored: true }), decorators: [HttpCode(204)] },
  accepted: { handle: () => undefined, decorators: [HttpCode(202)] },
  file: { handle: () => new StreamableFile(Readable.from(['a,b\n']), { type: 'text/csv' }) },
  'missing-file': {
    handle: () => {
      const options = { type: 'text/csv', disposition: 'attachment', length: 4 };
      return new StreamableFile(createReadStream('/nowhere/pets.csv'), options);
    },
  },
  redirect: { handle: () => undefined, decorators: [Redirect('/v1/values/text')] },
  sent: {
    handle: (/** @type {import('express').Response} */ response) => {
      response.status(200).type('html').send(HTML);
    },
  },
  written: {
    handle: (/** @type {import('node:http').ServerResponse} */ response) => {
      response.writeHead(418, { 'Content-Type': 'text/plain' }).end('short');
    },
  },
};

for (const [path, { handle, decorators = [] }] of Object.entries(ROUTES)) {
  for (const [method, decorate] of /** @type {const} */ ([
    ['get', Get],
    ['post', Post],
  ])) {
    const name = `${method}-${path}`;
    // A new function, because decorators store their metadata on it.
    const value = (/** @type {unknown[]} */ ...args) => handle(...args);
    const descriptor = { value, writable: true, enumerable: false, configurable: true };
    Object.defineProperty(ValuesController.prototype, name, descriptor);
    if (handle.length > 0) Res()(ValuesController.prototype, name, 0);
    for (const apply of [...decorators, decorate(path)]) {
      apply(ValuesController.prototype, name, descriptor);
    }
  }
}
Controller({ path: 'values', version: '1' })(ValuesController);

export default [feature({ controllers: [ValuesController] })];
