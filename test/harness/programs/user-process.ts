// A process that uses the embedded database, for the tests: `node user-process.js BUILD DATA_DIR
// service|command`. Prints its connection, or why there is none, as a line of JSON, and before that
// a line if it has to wait; closes on SIGTERM.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

type Embedded = typeof import('../../../src/platform/database/embedded/embedded-postgres.js');
type Names = typeof import('../../../src/product.js');
type Errors = typeof import('../../../src/platform/errors/start-error.js');

const [build = '', dataDir = '', use] = process.argv.slice(2);
const load = <Module>(name: string) =>
  import(pathToFileURL(join(build, 'platform', name)).href) as Promise<Module>;
const { openEmbeddedDatabase } = await load<Embedded>('database/embedded/embedded-postgres.js');
const { PRODUCT } = await load<Names>('../product.js');
const { StartError } = await load<Errors>('errors/start-error.js');
const programsFolder = process.env.PROGRAMS_FOLDER ?? `/var/cache/${PRODUCT.name}`;
const settings = { dataDir, name: PRODUCT.database, programsFolder };
const print = (message: object) => console.log(JSON.stringify(message));
try {
  console.error = () => print({ waiting: true });
  const database = await openEmbeddedDatabase(settings, use as 'service' | 'command');
  const alive = setInterval(() => undefined, 1000);
  process.on('SIGTERM', () => {
    void database.close().then(() => clearInterval(alive));
  });
  print({ connection: database.connection });
} catch (error) {
  print({ error: (error as Error).message, expected: error instanceof StartError });
  process.exitCode = 1;
}
