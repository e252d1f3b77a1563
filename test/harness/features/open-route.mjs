// @ts-check
// A route that a feature opens to everyone, in addition to those of routes.mjs.
import { Controller, Get } from '@nestjs/common';
import { Public } from '#dist/platform/access/public.decorator.js';
import routes from './routes.mjs';
import { decorate, feature } from './decorate.mjs';

class OpenController {
  read() {
    return {};
  }
}
Controller({ path: 'open', version: '1' })(OpenController);
decorate(OpenController, 'read', Get(), Public());

export default [...routes, feature({ controllers: [OpenController] })];
