// A feature that needs a package which is not installed, as a gateway needs its adapter.
import { Module, type OnModuleInit } from '@nestjs/common';
import { loadAdapter } from '@nestjs/core/helpers/load-adapter.js';

@Module({})
class Gateway implements OnModuleInit {
  async onModuleInit() {
    await loadAdapter('@nestjs/platform-ws', 'WebSockets', () => {
      throw new Error('not installed');
    });
  }
}
export default [Gateway];
