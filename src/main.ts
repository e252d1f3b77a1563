import { SettingError } from './config/setting-error.js';
import { EmbeddedDatabaseError } from './database/embedded/embedded-database-error.js';
import { runService } from './service.js';

try {
  await runService();
  process.exitCode = 0;
} catch (error) {
  // What an operator can mend is told in one line; a defect with its stack.
  const mendable = error instanceof SettingError || error instanceof EmbeddedDatabaseError;
  console.error(mendable ? error.message : error);
  process.exitCode = 1;
}
