// @ts-check
// Routes that read the request as a stream, for example to check a signature of its bytes.
import { Controller, createParamDecorator, Post, Req } from '@nestjs/common';
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
}
Req()(RawBodiesController.prototype, 'read', 0);
Incoming()(RawBodiesController.prototype, 'readOther', 0);
decorate(RawBodiesController, 'read', Post('req'));
decorate(RawBodiesController, 'readOther', Post('decorator'));
Controller({ path: 'raw-bodies', version: '1' })(RawBodiesController);

export default [feature({ controllers: [RawBodiesController] })];
