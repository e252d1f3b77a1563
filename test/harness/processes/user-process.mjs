// A process that uses the embedded database, for the tests: `node user-process.mjs DIST DATA_DIR
// service|command`. Prints its connection, or why there is none, as a line of JSON, and before that
// a line if it has to wait; closes on SIGTERM.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [dist = '', dataDir, use] = process.argv.slice(2);
const load = (/** @type {string} */ name) =>
  import(pathToFileURL(join(dist, 'platform/database/embedded', name)).href);
const { openEmbeddedDatabase } = await load('embedded-postgres.js');
const { StartError } = await load('../../errors/start-error.js');
const print = (/** @type {object} */ message) => console.log(JSON.stringify(message));
try {
  console.error = () => print({ waiting: true });
  const database = await openEmbeddedDatabase(dataDir, use);
  const alive = setInterval(() => undefined, 1000);
  process.on('SIGTERM', () => {
    void database.close().then(() => clearInterval(alive));
  });
  print({ connection: database.connection });
} catch (error) {
  const { message } = /** @type {Error} */ (error);
  print({ error: message, expected: error instanceof StartError });
  process.exitCode = 1;
}
