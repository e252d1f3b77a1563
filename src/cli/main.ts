#!/usr/bin/env node
import { COMMANDS } from '../commands.js';
import { PLANS } from '../plans.js';
import { runProcess } from '../platform/commands/program.js';
import { PRODUCT } from '../product.js';

await runProcess(process.argv.slice(2), {
  product: PRODUCT,
  plans: PLANS,
  commands: COMMANDS,
  loadRoot: async () => (await import('../app.module.js')).AppModule,
});
