import { SettingError } from './config/setting-error.js';
import { EmbeddedDatabaseError } from './embedded-postgres/embedded-database-error.js';
import { runService } from './service.js';
import { StartError } from './errors/start-error.js';

/** What an operator can mend is told in one line; a defect with its stack. */
const MENDABLE = [SettingError, StartError, EmbeddedDatabaseError];

const EXIT_LIMIT_MS = 1_000;

try {
  await runService();
  process.exitCode = 0;
} catch (error) {
  const mendable = MENDABLE.some((type) => error instanceof type);
  console.error(mendable ? (error as Error).message : error);
  process.exitCode = 1;
}
// What hangs, such as a connection to a database that does not answer, must not keep the process.
setTimeout(() => process.exit(), EXIT_LIMIT_MS).unref();
