// @ts-check
// A route that a feature opens to everyone, in addition to those of routes.mjs.
import { Controller, Get, Module } from '@nestjs/common';
import { Public } from '#dist/platform/access/public.decorator.js';
import routes from './routes.mjs';

class OpenController {
  read() {
    return {};
  }
}
Controller({ path: 'open', version: '1' })(OpenController);
const method = /** @type {PropertyDescriptor} */ (
  Object.getOwnPropertyDescriptor(OpenController.prototype, 'read')
);
Get()(OpenController.prototype, 'read', method);
Public()(OpenController.prototype, 'read', method);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- what is decorated below
class OpenModule {}
Module({ controllers: [OpenController] })(OpenModule);

export default [...routes, OpenModule];
