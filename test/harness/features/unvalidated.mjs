// @ts-check
// Handlers with parameters that nothing validates.
import { Body, Controller, Get, Param, Post } from '@nestjs/common';
import { decorate, feature } from './decorate.mjs';

class ToysController {
  find() {
    return {};
  }
  create() {
    return {};
  }
  notARoute() {
    return {};
  }
}
Body()(ToysController.prototype, 'notARoute', 0);
decorate(ToysController, 'find', Get(':id'));
Param('id')(ToysController.prototype, 'find', 0);
decorate(ToysController, 'create', Post());
Body('a')(ToysController.prototype, 'create', 0);
Controller({ path: 'toys', version: '1' })(ToysController);

export default [feature({ controllers: [ToysController] })];
