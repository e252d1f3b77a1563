import { runProcess } from './platform/process/lifecycle.js';
import { PRODUCT } from './product.js';

/** Runs the service until a signal stops it. AppModule is loaded while the database starts. */
async function bootstrap(): Promise<void> {
  await runProcess(PRODUCT, async () => (await import('./app.module.js')).AppModule);
}

await bootstrap();
