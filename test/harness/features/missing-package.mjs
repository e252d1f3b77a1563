// @ts-check
// A feature that needs a package which is not installed, as a gateway needs its adapter.
import { loadAdapter } from '@nestjs/core/helpers/load-adapter.js';
import { feature } from './decorate.mjs';

class Gateway {
  async onModuleInit() {
    await loadAdapter('@nestjs/platform-ws', 'WebSockets', () => {
      throw new Error('not installed');
    });
  }
}

export default [feature({ providers: [Gateway] })];
