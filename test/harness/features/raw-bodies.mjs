// @ts-check
// Routes that read the request as a stream, for example to check a signature of its bytes.
import { Controller, createParamDecorator, Post, Req } from '@nestjs/common';
import { Public } from '#dist/platform/access/public.decorator.js';
import { decorate, feature } from './decorate.mjs';

const Incoming = createParamDecorator((_data, context) => context.switchToHttp().getRequest());

class RawBodiesController {
  /** @param {AsyncIterable<Buffer>} request */
  async read(request) {
    let bytes = 0;
    for await (const chunk of request) bytes += chunk.length;
    return { bytes };
  }
  /** @param {AsyncIterable<Buffer>} request */
  readOther(request) {
    return this.read(request);
  }
  /** @param {AsyncIterable<Buffer>} request */
  readPublic(request) {
    return this.read(request);
  }
}
class PublicBodiesController extends RawBodiesController {
  /** @param {AsyncIterable<Buffer>} request */
  readAny(request) {
    return this.read(request);
  }
}
Req()(PublicBodiesController.prototype, 'readAny', 0);
decorate(PublicBodiesController, 'readAny', Post());
Public()(PublicBodiesController);
Controller({ path: 'public-bodies', version: '1' })(PublicBodiesController);
Req()(RawBodiesController.prototype, 'readPublic', 0);
Req()(RawBodiesController.prototype, 'read', 0);
Incoming()(RawBodiesController.prototype, 'readOther', 0);
decorate(RawBodiesController, 'read', Post('req'));
decorate(RawBodiesController, 'readOther', Post('decorator'));
decorate(RawBodiesController, 'readPublic', Post('public'), Public());
Controller({ path: 'raw-bodies', version: '1' })(RawBodiesController);

export default [feature({ controllers: [RawBodiesController, PublicBodiesController] })];
