import type { INestApplication } from '@nestjs/common';
import type { Logger } from 'pino';
import { KeyLookupRepository } from './auth/key-cache/key-lookup.repository.js';
import type { Settings } from './config/settings.js';
import { databaseTarget } from './database/database-target.js';
import { VERSION } from './version.js';

/** Returns the properties of the log line that shows what the service runs with. */
export function startProperties({ database, redis, server }: Settings) {
  return {
    version: VERSION,
    node: process.version,
    database: databaseTarget(database).description,
    redis: redis !== undefined,
    trustProxy: server.trustProxy,
  };
}

/** Logs the command for the first API key if there is none. */
export async function reportMissingKeys(app: INestApplication, logger: Logger): Promise<void> {
  try {
    if (await app.get(KeyLookupRepository).hasKeys()) return;
  } catch (err) {
    // The service can serve requests as soon as the database is available again.
    logger.debug({ err }, 'API keys not counted');
    return;
  }
  logger.info({ command: 'pets keys issue --owner NAME --plan free' }, 'no API keys yet');
}
