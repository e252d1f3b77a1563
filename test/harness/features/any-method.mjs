// @ts-check
// A route that a feature serves for all methods.
import { All, Controller } from '@nestjs/common';
import { decorate, feature } from './decorate.mjs';

class AnyMethodController {
  respond() {
    return {};
  }
}
Controller('any-method')(AnyMethodController);
decorate(AnyMethodController, 'respond', All());

export default [feature({ controllers: [AnyMethodController] })];
