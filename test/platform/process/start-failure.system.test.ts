import { once } from 'node:events';
import { appendFileSync, existsSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { PRODUCT } from '../../../src/product.js';
import { closeBeforeDatabases, useDatabase } from '../../harness/database/database.js';
import {
  makeCluster,
  makeFolder,
  onLinux,
  processesOf,
} from '../../harness/processes/embedded-user.js';
import { type Failure, failuresOf } from '../../harness/service/failing-starts.js';
import { type Environment, spawnBuiltService } from '../../harness/service/service.js';

/** A role without rights. Roles belong to the server, which other test files use too. */
const ROLE = `no_rights_${process.pid}`;
/** A role that may open no connection. */
const FULL_ROLE = `no_connections_${process.pid}`;
const PASSWORD = 'c0rrect-horse';

const database = useDatabase();
const empty = useDatabase({ template: 'template0' });
const latin = useDatabase({
  template: `template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'`,
});
/** Accepts connections and sends nothing. It reads, so that it notices when they close. */
let silent: Server;
let takenPort: number;

beforeAll(async () => {
  silent = createServer((socket) => socket.on('error', () => undefined).resume());
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  takenPort = (silent.address() as AddressInfo).port;
  await database.query(`CREATE ROLE ${ROLE} LOGIN`);
  await database.query(`CREATE ROLE ${FULL_ROLE} LOGIN CONNECTION LIMIT 0`);
  closeBeforeDatabases(() => database.query(`DROP ROLE ${ROLE}, ${FULL_ROLE}`));
});
afterAll(() => silent.close());

function withoutRights(address: string, role = ROLE): string {
  const url = new URL(address);
  url.username = role;
  return url.href;
}

/** Returns the address of a PostgreSQL that cannot be used. */
function unusable(authority: string, name = 'pets'): string {
  return `postgres://pets:${PASSWORD}@${authority}/${name}`;
}

const FAILURES: [title: string, env: () => Environment, line: RegExp][] = [
  [
    'PORT in use',
    () => ({ PORT: String(takenPort) }),
    /^PORT: listen EADDRINUSE: address already in use 127\.0\.0\.1:\d+$/,
  ],
  [
    'HOST of another machine',
    () => ({ HOST: '192.0.2.1' }),
    /^HOST: listen EADDRNOTAVAIL: address not available 192\.0\.2\.1$/,
  ],
  [
    'a database that rejects connections',
    () => ({ DATABASE_URL: unusable('127.0.0.1:1') }),
    /^DATABASE_URL: .*ECONNREFUSED/,
  ],
  [
    'a database that does not respond',
    () => ({ DATABASE_URL: unusable(`127.0.0.1:${takenPort}`), DATABASE_POOL_WAIT_SECONDS: '0.5' }),
    /^DATABASE_URL: /,
  ],
  [
    'a database with pending migrations, without migrations',
    () => ({ DATABASE_URL: empty.url, MIGRATE_ON_START: 'false' }),
    RegExp(`^The schema of .* role cannot read it\\. Run \`${PRODUCT.command} db migrate\` .*$`),
  ],
  [
    'a role that cannot create tables',
    () => ({ DATABASE_URL: withoutRights(empty.url) }),
    /^DATABASE_URL: permission denied for schema public$/,
  ],
  ...['true', 'false'].map((MIGRATE_ON_START): (typeof FAILURES)[number] => [
    `a role that may open no connection, with MIGRATE_ON_START=${MIGRATE_ON_START}`,
    () => ({ DATABASE_URL: withoutRights(database.url, FULL_ROLE), MIGRATE_ON_START }),
    /^DATABASE_URL: The database allows no further connection\. Lower DATABASE_POOL_SIZE .* \(53300: [^)]+\)$/,
  ]),
  [
    'a database in LATIN1',
    () => ({ DATABASE_URL: latin.url }),
    /^DATABASE_URL: The database cannot be used: server_encoding must be UTF8, but is LATIN1$/,
  ],
  [
    'a database in LATIN1, without migrations',
    () => ({ DATABASE_URL: latin.url, MIGRATE_ON_START: 'false' }),
    /^DATABASE_URL: The database cannot be used: server_encoding must be UTF8, but is LATIN1$/,
  ],
  ...['/dev/null/x', '/proc/x'].map((DATA_DIR): (typeof FAILURES)[number] => [
    `DATA_DIR that cannot be created: ${DATA_DIR}`,
    () => ({ DATABASE_URL: '', DATA_DIR }),
    new RegExp(`${DATA_DIR}.*choose another DATA_DIR`),
  ]),
];

describe('one process that cannot start reports an error of one line', () => {
  let failures: Failure[];
  /** With embedded databases. */
  let embeddedFailures: Failure[];
  const dataDirs = { FULL: '', STOPPED: '' };

  beforeAll(async () => {
    const envs = FAILURES.map(([, env]) => ({ DATABASE_URL: database.url, ...env() }));
    const embedded: Environment[] = [];
    if (onLinux) {
      for (const name of ['FULL', 'STOPPED'] as const) {
        dataDirs[name] = makeFolder();
        await makeCluster(dataDirs[name]);
      }
      const settings = 'max_connections = 1\nsuperuser_reserved_connections = 0\n';
      appendFileSync(join(dataDirs.FULL, 'postgres/postgresql.conf'), settings);
      embedded.push(
        { DATABASE_URL: '', DATA_DIR: dataDirs.FULL },
        { DATABASE_URL: '', DATA_DIR: dataDirs.STOPPED, FEATURE: 'not loaded' },
      );
    }
    const all = await failuresOf([...envs, ...embedded]);
    failures = all.slice(0, envs.length);
    embeddedFailures = all.slice(envs.length);
  });

  (onLinux ? test : test.skip)(
    'DATA_DIR whose server has no connection for the service (Linux only)',
    () => {
      expect(embeddedFailures[0]).toEqual([
        'StartError',
        expect.stringMatching(/^DATA_DIR: The database allows no further connection\..+$/),
      ]);
      expect(processesOf(dataDirs.FULL)).toEqual([]);
    },
  );

  (onLinux ? test : test.skip)(
    'a module that cannot be loaded, after the embedded server was stopped (Linux only)',
    () => {
      expect(embeddedFailures[1]).toEqual(['Error', 'The feature is broken.']);
      expect(existsSync(join(dataDirs.STOPPED, 'postgres/server.log'))).toBe(true);
      expect(processesOf(dataDirs.STOPPED)).toEqual([]);
    },
  );

  test.each(FAILURES.map(([title, , line], index) => [title, line, index] as const))(
    '%s',
    (_title, line, index) => {
      const [type, message] = failures[index] ?? [];
      expect(message).toMatch(line);
      expect(message).not.toMatch(/\n|c0rrect-horse/);
      expect(type).toMatch(/^(?:Start|Setting|EmbeddedDatabase)Error$/);
    },
  );
});

test('dist/main.js › one line for each invalid setting on standard error, nothing else, and exit code 1', async () => {
  const env = { PORT: 'x', LOG_LEVEL: 'loud', REDIS_URL: 'redis' };
  const service = spawnBuiltService({ DATABASE_URL: database.url, ...env });
  expect(await once(service.process, 'close')).toEqual([1, null]);
  expect(service.output()).toMatch(/^PORT is .+\nREDIS_URL is .+\nLOG_LEVEL is .+\n$/);
});
