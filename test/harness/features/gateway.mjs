// @ts-check
// A WebSocket gateway, with the metadata that the decorator of @nestjs/websockets sets.
import { feature } from './decorate.mjs';

class LiveGateway {
  handleMessage() {
    return 'Hello world!';
  }
}
Reflect.defineMetadata('websockets:is_gateway', true, LiveGateway);

export default [feature({ providers: [LiveGateway] })];
