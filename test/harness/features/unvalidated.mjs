// @ts-check
// Handlers with parameters that nothing validates.
import { Body, Controller, Get, Module, Param, Post } from '@nestjs/common';

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
route('find', Get(':id'), Param('id'));
route('create', Post(), Body('a'));
Controller({ path: 'toys', version: '1' })(ToysController);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- a module, decorated by hand
class ToysModule {}
Module({ controllers: [ToysController] })(ToysModule);

export default [ToysModule];

/**
 * @param {'find' | 'create'} name
 * @param {MethodDecorator} method
 * @param {ParameterDecorator} parameter
 */
function route(name, method, parameter) {
  const descriptor = /** @type {PropertyDescriptor} */ (
    Object.getOwnPropertyDescriptor(ToysController.prototype, name)
  );
  method(ToysController.prototype, name, descriptor);
  parameter(ToysController.prototype, name, 0);
}
