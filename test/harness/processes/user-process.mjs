// A process that uses the embedded database, for the tests: `node user-process.mjs DIST DATA_DIR
// service|command [TIMEOUT_MS]`. Prints its connection, or why there is none, as a line of JSON;
// closes on SIGTERM. SHARED_FOLDER in the environment: where root keeps a copy of the binaries.
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const [dist = '', dataDir, use, startTimeoutMs] = process.argv.slice(2);
const module = pathToFileURL(join(dist, 'platform/database/embedded/embedded-postgres.js')).href;
const { openEmbeddedDatabase, EmbeddedDatabaseError } = await import(module);
const begun = performance.now();
try {
  const database = await openEmbeddedDatabase({
    dataDir,
    use,
    ...(process.env.SHARED_FOLDER && { sharedFolder: process.env.SHARED_FOLDER }),
    ...(startTimeoutMs === undefined ? {} : { startTimeoutMs: Number(startTimeoutMs) }),
  });
  const alive = setInterval(() => undefined, 1000);
  process.on('SIGTERM', () => {
    void Promise.all([database.close(), database.close()]).then(() => clearInterval(alive));
  });
  console.log(
    JSON.stringify({
      connection: database.connection,
      tookMs: Math.round(performance.now() - begun),
    }),
  );
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  console.log(JSON.stringify({ error: message, expected: error instanceof EmbeddedDatabaseError }));
  process.exitCode = 1;
}
