import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { rootCertificates } from 'node:tls';
import pg from 'pg';
import { SettingError } from '../../src/platform/config/environment-reader.js';
import { Settings } from '../../src/platform/config/settings.js';

const ADDRESS = 'postgres://user:secret@db:5432/pets';
const DATABASE = { DATABASE_URL: ADDRESS };
const FOLDER = mkdtempSync(join(tmpdir(), 'pets-settings-'));
/** A file with several certificates, as providers publish them. */
const CERTIFICATE = join(FOLDER, 'ca.pem');
writeFileSync(CERTIFICATE, `Two authorities\n${rootCertificates.slice(0, 2).join('\n')}\n`);
afterAll(() => rmSync(FOLDER, { recursive: true }));

/** Returns the message of the error that rejects the settings. */
function rejectionOf(environment: Record<string, string>): string {
  try {
    new Settings(environment);
  } catch (error) {
    if (error instanceof SettingError) return error.message;
    throw error;
  }
  throw new Error('the settings were accepted');
}

test('every setting has a default', () => {
  expect(new Settings({})).toMatchObject({
    server: {
      port: 3000,
      host: '127.0.0.1',
      metricsPort: 9464,
      metricsHost: '127.0.0.1',
      publicUrl: undefined,
      stagingUrl: undefined,
      trustProxy: 0,
      corsOrigins: [],
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
      keepAliveTimeoutMs: 65_000,
      stalledConnectionTimeoutMs: 60_000,
      shutdownDelayMs: 0,
      shutdownGraceMs: 10_000,
    },
    database: {
      url: undefined,
      directUrl: undefined,
      poolSize: 10,
      queueSize: 500,
      lookupPoolSize: 2,
      poolWaitMs: 2_000,
      statementTimeoutMs: 2_000,
      lockTimeoutMs: 2_000,
      readinessTimeoutMs: 400,
      migrateOnStart: true,
      dataDir: resolve('.data'),
    },
    redis: undefined,
    limits: {
      anonymousRequestsPerMinute: 300,
      banAfterRejections: undefined,
      banMs: 300_000,
    },
    bounds: { maxCachedKeys: 100_000 },
    logging: { level: 'info', clientAddress: 'full', bufferBytes: 4_194_304 },
  });
});

test.each<[name: string, value: string, group: keyof Settings, read: object]>([
  ['PORT', '0', 'server', { port: 0 }],
  ['PORT', '65535', 'server', { port: 65_535 }],
  ['PORT', '', 'server', { port: 3000 }],
  ['HOST', '0.0.0.0', 'server', { host: '0.0.0.0' }],
  ['METRICS_PORT', '', 'server', { metricsPort: undefined }],
  ['METRICS_PORT', '1', 'server', { metricsPort: 1 }],
  ['METRICS_HOST', '0.0.0.0', 'server', { metricsHost: '0.0.0.0' }],
  ['PUBLIC_URL', 'https://host/store/', 'server', { publicUrl: 'https://host/store' }],
  ['STAGING_URL', 'http://staging:8080', 'server', { stagingUrl: 'http://staging:8080' }],
  ['MIGRATE_ON_START', 'false', 'database', { migrateOnStart: false }],
  ['DOCS', 'false', 'server', { docs: false }],
  ['TRUST_PROXY', '2', 'server', { trustProxy: 2 }],
  ['TRUST_PROXY', '10.0.0.0/8, ::1', 'server', { trustProxy: ['10.0.0.0/8', '::1'] }],
  ['TRUST_PROXY', '10.0.0.1/32', 'server', { trustProxy: ['10.0.0.1/32'] }],
  ['TRUST_PROXY', '::1/128', 'server', { trustProxy: ['::1/128'] }],
  ['BAN_AFTER_REJECTIONS', '0', 'limits', { banAfterRejections: 0 }],
  ['BAN_SECONDS', '0', 'limits', { banMs: 0 }],
  [
    'CORS_ORIGINS',
    'https://a.example, http://localhost:5173',
    'server',
    { corsOrigins: ['https://a.example', 'http://localhost:5173'] },
  ],
  ['LOG_LEVEL', 'silent', 'logging', { level: 'silent' }],
  ['SHUTDOWN_DELAY_SECONDS', '0.25', 'server', { shutdownDelayMs: 250 }],
  ['SHUTDOWN_GRACE_SECONDS', '0', 'server', { shutdownGraceMs: 0 }],
  ['HEADERS_TIMEOUT_SECONDS', '0.1', 'server', { headersTimeoutMs: 100 }],
])('%s=%s is accepted', (name, value, group, read) => {
  expect(new Settings({ [name]: value })[group]).toMatchObject(read);
});

test('BAN_AFTER_REFUSALS, the former name of BAN_AFTER_REJECTIONS, works with a warning', () => {
  const { limits, warnings } = new Settings({ BAN_AFTER_REFUSALS: '7' });
  expect(limits.banAfterRejections).toBe(7);
  expect(warnings).toEqual([expect.stringContaining('BAN_AFTER_REJECTIONS')]);
  const both = new Settings({ BAN_AFTER_REFUSALS: '7', BAN_AFTER_REJECTIONS: '8' });
  expect(both.limits.banAfterRejections).toBe(8);
  expect(new Settings({ BAN_AFTER_REJECTIONS: '7' }).warnings).toEqual([]);
});

test.each<[name: string, expected: RegExp, ...values: string[]]>([
  ['PORT', /integer from 0 to 65535/, 'x', '-1', '65536', '1.5', '0x10', ' 80', '1e3', '+80'],
  ['METRICS_PORT', /integer from 0 to 65535/, 'off', '65536'],
  ['METRICS_PORT', /another port than PORT/, '3000'],
  [
    'PUBLIC_URL',
    /http or https address/,
    ...['example.org', '//example.org', 'ftp://example.org', 'https://example.org?a'],
    ...['https://example.org#a', 'https://user:secret@example.org', 'https://example.org/a b'],
  ],
  ['STAGING_URL', /http or https address/, 'example.org'],
  [
    'DATABASE_URL',
    /postgres:\/\//,
    ...['db:5432', 'mysql://db/pets', 'postgres://user:%zz@db/pets', 'postgres://db:x/pets'],
  ],
  ['DATABASE_URL', /sslmode to be one of disable, allow, .*verify-full$/, `${ADDRESS}?sslmode=on`],
  ['DATABASE_URL', /sslrootcert=FILE together with/, `${ADDRESS}?sslmode=verify-ca`],
  ['DATABASE_URL', /sslrootcert .* readable file/, `${ADDRESS}?sslrootcert=/none`],
  [
    'DATABASE_URL',
    /sslmode, sslrootcert, sslcert and sslkey as the only parameters that begin with ssl$/,
    ...[`${ADDRESS}?ssl=true`, `${ADDRESS}?ssl=false`, `${ADDRESS}?ssl=prefer`],
    ...[`${ADDRESS}?SSLMODE=verify-full`, `${ADDRESS}?sslMode=require`, `${ADDRESS}?sslca=/ca`],
  ],
  ['DATABASE_URL', /sslmode only once$/, `${ADDRESS}?sslmode=verify-full&sslmode=disable`],
  ['DATABASE_URL', /sslmode together with sslcert$/, `${ADDRESS}?sslcert=${CERTIFICATE}`],
  ['DATABASE_URL', /sslmode together with sslrootcert$/, `${ADDRESS}?sslrootcert=${CERTIFICATE}`],
  [
    'DATABASE_URL',
    /sslrootcert to be a file with a certificate in PEM, unlike \S+settings.test.ts$/,
    `${ADDRESS}?sslmode=require&sslrootcert=${__filename}`,
  ],
  [
    'REDIS_URL',
    /redis:\/\/user:password@host:6379.*Cluster/,
    ...['redis', 'redis:6379', 'http://redis', 'redis://', 'redis://redis:x', 'redis://redis:0'],
    ...['redis://redis/db', 'redis://redis/1/2', 'redis://redis?tls=true', 'redis://redis#a'],
    ...['redis://user:%zzsecret@redis', 'redis://a,b', 'redis://a,', 'redis://a,redis://b/1'],
    ...['redis://a redis://b'],
  ],
  [
    'REDIS_URL',
    /same protocol, user and password/,
    ...['redis://a,rediss://b', 'redis://:secret@a,redis://:other@b'],
  ],
  [
    'REDIS_PREFIX',
    /without braces and white space/,
    ...['{a}', 'a}', 'a b', 'a\n', 'a\u0007', 'a'.repeat(101)],
  ],
  ['REDIS_COMMAND_TIMEOUT_SECONDS', /seconds from 0.01 to 1/, '0', '1.1', '100ms'],
  ['DATABASE_POOL_SIZE', /integer from 1 to 1000/, '0', '1001', 'many'],
  ['DATABASE_QUEUE_SIZE', /integer from 1 to 100000/, '0', '100001', 'many'],
  ['MAX_CONNECTIONS', /integer from 1 to 1000000/, '0', '1000001', 'many'],
  ['MAX_CONNECTIONS_PER_ADDRESS', /integer from 1 to 1000000/, '0', '1000001', 'many'],
  ['MAX_REQUESTS_IN_PROGRESS', /integer from 1 to 100000/, '0', '100001', '1e3'],
  ['MAX_UNAUTHENTICATED_REQUESTS', /integer from 1 to 100000/, '0', '100001', 'all'],
  ['MAX_UNSENT_MEBIBYTES', /integer from 1 to 65536/, '0', '65537', '1.5'],
  ['MAX_ARRIVING_MEBIBYTES', /integer from 1 to 65536/, '0', '65537', 'none'],
  ['MAX_UPLOAD_MEBIBYTES', /integer from 1 to 1024/, '0', '1025', 'none'],
  ['DATABASE_LOOKUP_POOL_SIZE', /integer from 1 to 100/, '0', '101', 'many'],
  ['KEY_CACHE_SIZE', /integer from 1 to 10000000/, '0', '10000001', 'many'],
  ['READINESS_TIMEOUT_SECONDS', /seconds from 0.05 to 60/, '0', '61'],
  ['MIGRATE_ON_START', /true or false/, 'yes', '1', 'TRUE'],
  ['DOCS', /true or false/, 'yes', '1', 'TRUE'],
  [
    'TRUST_PROXY',
    /number of proxies, or their addresses/,
    ...['true', '-1', '10.0.0', '10.0.0.0/33', '::1/129', 'proxy', '1,2'],
  ],
  ['ANONYMOUS_REQUESTS_PER_MINUTE', /integer from 1/, '0', 'none'],
  ['BAN_AFTER_REJECTIONS', /integer from 0/, '-1', 'never'],
  ['BAN_SECONDS', /seconds from 0/, '-1', '5m', '1.2345'],
  [
    'CORS_ORIGINS',
    /origins such as/,
    ...['*', 'app.example.org', 'https://app.example.org/', 'https://a.example, b'],
  ],
  ['LOG_LEVEL', /one of trace, debug, info, warn, error, fatal, silent/, 'verbose', 'INFO', '30'],
  ['SHUTDOWN_DELAY_SECONDS', /seconds from 0 to 600/, '-1', '601', '5s'],
  ['SHUTDOWN_GRACE_SECONDS', /seconds from 0 to 600/, 'x', 'Infinity'],
  ['HEADERS_TIMEOUT_SECONDS', /seconds from 0.1 to 600/, '0', '601'],
  ['REQUEST_TIMEOUT_SECONDS', /seconds from 0.1 to 3600/, '0', '3601'],
  ['KEEP_ALIVE_TIMEOUT_SECONDS', /seconds from 0.1 to 3600/, '0', 'x'],
  ['STALLED_CONNECTION_TIMEOUT_SECONDS', /seconds from 0.1 to 3600/, '0', 'x'],
  ['DATABASE_STATEMENT_TIMEOUT_SECONDS', /seconds from 0.1 to 60/, '0', '61'],
  ['DATABASE_POOL_WAIT_SECONDS', /seconds from 0.1 to 60/, '0', '61'],
  ['DATABASE_LOCK_TIMEOUT_SECONDS', /seconds from 0.1 to 60/, '0', '61'],
])(
  '%s is rejected with one line that contains its name and the expected value',
  (name, expected, ...values) => {
    for (const value of values) {
      const message = rejectionOf({ [name]: value });
      expect(message).toMatch(expected);
      expect(message.startsWith(`${name} `)).toBe(true);
      expect(message).not.toMatch(/\n|secret/);
    }
  },
);

describe('several invalid settings', () => {
  const linesOf = (environment: Record<string, string>): string[] =>
    rejectionOf(environment)
      .split('\n')
      .map((line) => line.replace(/ is invalid: expected .+$/, ''));

  test('are rejected at once, with one line for each', () => {
    expect(
      linesOf({
        PORT: 'x',
        HEADERS_TIMEOUT_SECONDS: '0',
        PUBLIC_URL: 'example.org',
        TRUST_PROXY: 'proxy',
        CORS_ORIGINS: '*',
        DATABASE_URL: 'db',
        DATABASE_DIRECT_URL: 'direct',
        DATABASE_POOL_SIZE: '0',
        MIGRATE_ON_START: 'yes',
        REDIS_PREFIX: '{a}',
        REDIS_COMMAND_TIMEOUT_SECONDS: '2',
        REDIS_URL_FILE: '/none',
        BAN_SECONDS: '5m',
        MAX_CONNECTIONS: '0',
        LOG_LEVEL: 'loud',
      }).sort(),
    ).toEqual([
      ...['BAN_SECONDS', 'CORS_ORIGINS', 'DATABASE_DIRECT_URL', 'DATABASE_POOL_SIZE'],
      ...['DATABASE_URL', 'HEADERS_TIMEOUT_SECONDS', 'LOG_LEVEL', 'MAX_CONNECTIONS'],
      ...['MIGRATE_ON_START', 'PORT', 'PUBLIC_URL', 'REDIS_COMMAND_TIMEOUT_SECONDS'],
      ...['REDIS_PREFIX', 'REDIS_URL_FILE', 'TRUST_PROXY'],
    ]);
  });

  test.each<Record<string, string>>([{ DATABASE_URL_FILE: '/none' }, { DATABASE_URL: 'db' }])(
    'with %p, settings that need DATABASE_URL are not rejected in addition',
    (environment) => {
      const dependent = {
        DATABASE_DIRECT_URL: 'postgres://direct/pets',
        DATABASE_PASSWORD: 'secret',
      };
      expect(linesOf({ ...environment, ...dependent })).toEqual(Object.keys(environment));
    },
  );
});

describe('REDIS_URL', () => {
  const TWO = [
    { host: 'a', port: 7000 },
    { host: 'b', port: 6379 },
  ];
  const redis = (url: string) => new Settings({ REDIS_URL: url }).redis;

  test.each([
    ['redis://redis', { nodes: [{ host: 'redis', port: 6379 }], tls: false, database: 0 }],
    ['redis://redis/', { nodes: [{ host: 'redis', port: 6379 }], database: 0 }],
    [
      'rediss://10.0.0.1:7000/3',
      { nodes: [{ host: '10.0.0.1', port: 7000 }], tls: true, database: 3 },
    ],
    ['redis://[::1]:7000', { nodes: [{ host: '::1', port: 7000 }] }],
    ['redis://user:p%40ss%2C@redis', { username: 'user', password: 'p@ss,' }],
    ['rediss://:secret@a:7000, rediss://:secret@b', { nodes: TWO, tls: true, password: 'secret' }],
  ])('%s is accepted', (url, address) => {
    expect(redis(url)?.address).toMatchObject(address);
  });

  test('by default, keys begin with aas: and commands time out after 100 ms', () => {
    expect(redis('redis://redis')).toMatchObject({ prefix: 'aas:', commandTimeoutMs: 100 });
    expect(
      new Settings({
        REDIS_URL: 'redis://redis',
        REDIS_PREFIX: 'pets/1:',
        REDIS_COMMAND_TIMEOUT_SECONDS: '0.25',
      }).redis,
    ).toMatchObject({ prefix: 'pets/1:', commandTimeoutMs: 250 });
  });
});

describe('the TLS of a database address', () => {
  test.each(['prefer', 'require'])('with sslmode=%s is checked with sslrootcert', (mode) => {
    const read = (url: string) => {
      const { database, warnings } = new Settings({ DATABASE_URL: url });
      return { ssl: new pg.Client({ connectionString: database.url }).ssl, warnings };
    };
    expect(read(`${ADDRESS}?sslmode=${mode}&sslrootcert=${CERTIFICATE}`)).toEqual({
      ssl: {
        ca: readFileSync(CERTIFICATE, 'utf8'),
        checkServerIdentity: expect.any(Function),
      },
      warnings: [],
    });
    expect(read(`${ADDRESS}?sslmode=${mode}`)).toEqual({
      ssl: { rejectUnauthorized: false },
      warnings: [expect.stringContaining(`sslmode=${mode}`)],
    });
  });

  test.each(['prefer', 'require', 'verify-full', 'no-verify'])(
    'is not chosen by PGSSLMODE=%s',
    (PGSSLMODE) => {
      expect(rejectionOf({ ...DATABASE, PGSSLMODE })).toBe(
        'DATABASE_URL is invalid: expected sslmode in the address instead of PGSSLMODE',
      );
      const { database } = new Settings({ DATABASE_URL: `${ADDRESS}?sslmode=disable`, PGSSLMODE });
      expect(new pg.Client({ connectionString: database.url }).ssl).toBe(false);
      expect(new Settings({ ...DATABASE, PGSSLMODE: 'disable' }).database.url).toBe(ADDRESS);
      expect(new Settings({ PGSSLMODE }).database.url).toBeUndefined();
    },
  );
});

test.each([
  ['NUL bytes', '\0'.repeat(100)],
  ['text', 'no certificate'],
])('REDIS_CA_FILE with %s is rejected with the name of the file', (_, content) => {
  const path = join(FOLDER, 'redis-ca');
  writeFileSync(path, content);
  const environment = { REDIS_URL: 'rediss://redis', REDIS_CA_FILE: path };
  expect(rejectionOf(environment)).toBe(
    `REDIS_CA_FILE is invalid: expected a file with a certificate in PEM, unlike ${path}`,
  );
});

test('REDIS_CA_FILE can contain several certificates', () => {
  const environment = { REDIS_URL: 'rediss://redis', REDIS_CA_FILE: CERTIFICATE };
  expect(new Settings(environment).redis?.address.ca).toContain('BEGIN CERTIFICATE');
});

test('DATABASE_DIRECT_URL defaults to DATABASE_URL and is rejected without it', () => {
  expect(new Settings(DATABASE).database.directUrl).toBe(DATABASE.DATABASE_URL);
  const direct = 'postgres://direct/pets';
  const { database } = new Settings({ ...DATABASE, DATABASE_DIRECT_URL: direct });
  expect(database.directUrl).toBe(direct);
  expect(rejectionOf({ DATABASE_DIRECT_URL: direct })).toMatch(/^DATABASE_DIRECT_URL /);
});

test.each([
  ['postgres://owner:other@localhost:5432/pets', false],
  ['postgres://localhost:6432/pets', true],
  ['postgres://localhost:5432/other', true],
])(
  'with DATABASE_DIRECT_URL %s, DATABASE_URL leads to a pooler: %s',
  (direct, usesConnectionPooler) => {
    const { database } = new Settings({
      DATABASE_URL: 'postgres://service:secret@localhost:5432/pets',
      DATABASE_DIRECT_URL: direct,
    });
    expect(database.usesConnectionPooler).toBe(usesConnectionPooler);
  },
);

describe('DATABASE_PASSWORD', () => {
  /** A password as `openssl rand -base64` and people create them. */
  const password = 'a/b+c=@:?# %41%';
  const connectionOf = (connectionString = ''): pg.Client => new pg.Client({ connectionString });

  test.each([
    'postgres://user@db:5432/pets',
    'postgres://user@db/pets?sslmode=disable',
    'postgres:///pets?host=/run/postgresql&user=user',
  ])('is the password of an address that contains none: %s', (url) => {
    const { database } = new Settings({ DATABASE_URL: url, DATABASE_PASSWORD: password });
    const expected = connectionOf(url);
    for (const address of [database.url, database.directUrl]) {
      const { host, port, user, database: name, password: used } = connectionOf(address);
      expect({ host, port, user, name, used }).toEqual({
        host: expected.host,
        port: expected.port,
        user: 'user',
        name: 'pets',
        used: password,
      });
    }
    expect(database.usesConnectionPooler).toBe(false);
  });

  test('is, without DATABASE_DIRECT_PASSWORD, also the password of DATABASE_DIRECT_URL', () => {
    const url = 'postgres://user@db/pets';
    const environment = {
      DATABASE_URL: url,
      DATABASE_DIRECT_URL: url,
      DATABASE_PASSWORD: password,
    };
    const { database } = new Settings(environment);
    expect(connectionOf(database.directUrl).password).toBe(password);
    const { directUrl, usesConnectionPooler } = new Settings({
      ...environment,
      DATABASE_DIRECT_PASSWORD: 'owner',
    }).database;
    expect(connectionOf(directUrl).password).toBe('owner');
    expect(usesConnectionPooler).toBe(false);
  });

  test('and DATABASE_DIRECT_PASSWORD are rejected without the address that they belong to', () => {
    expect(rejectionOf({ DATABASE_PASSWORD: 'secret' })).toBe(
      'DATABASE_PASSWORD is invalid: expected a value only together with DATABASE_URL',
    );
    expect(rejectionOf({ ...DATABASE, DATABASE_DIRECT_PASSWORD: 'secret' })).toBe(
      'DATABASE_DIRECT_PASSWORD is invalid: expected a value only together with DATABASE_DIRECT_URL',
    );
  });
});

describe('a secret from a file', () => {
  const path = join(FOLDER, 'url');

  test.each(['', '\n', '\r\n'])('is read without the line end %j', (end) => {
    writeFileSync(path, `${DATABASE.DATABASE_URL}${end}`);
    expect(new Settings({ DATABASE_URL_FILE: path }).database.url).toBe(DATABASE.DATABASE_URL);
  });

  test('can be DATABASE_DIRECT_URL', () => {
    writeFileSync(path, 'postgres://direct/pets');
    const { database } = new Settings({ ...DATABASE, DATABASE_DIRECT_URL_FILE: path });
    expect(database.directUrl).toBe('postgres://direct/pets');
  });

  test('that contains no address is rejected without showing its content', () => {
    writeFileSync(path, 'secret');
    expect(rejectionOf({ DATABASE_URL_FILE: path })).toMatch(
      /^DATABASE_URL is invalid: expected an address/,
    );
  });

  test('can be DATABASE_PASSWORD and DATABASE_DIRECT_PASSWORD', () => {
    writeFileSync(path, 'a/b+c=\n');
    const { database } = new Settings({
      DATABASE_URL: 'postgres://pets_service@db/pets',
      DATABASE_PASSWORD_FILE: path,
      DATABASE_DIRECT_URL: 'postgres://pets_owner@db/pets',
      DATABASE_DIRECT_PASSWORD_FILE: path,
    });
    for (const url of [database.url, database.directUrl]) {
      expect(new pg.Client({ connectionString: url }).password).toBe('a/b+c=');
    }
  });

  test('can be REDIS_URL', () => {
    writeFileSync(path, 'redis://:secret@redis\n');
    expect(new Settings({ REDIS_URL_FILE: path }).redis?.address.password).toBe('secret');
  });

  test('that cannot be read is rejected', () => {
    expect(rejectionOf({ DATABASE_URL_FILE: join(FOLDER, 'none') })).toMatch(
      /^DATABASE_URL_FILE .*readable file$/,
    );
    expect(rejectionOf({ DATABASE_URL_FILE: FOLDER })).toMatch(
      /^DATABASE_URL_FILE .*readable file$/,
    );
  });

  test('is rejected together with the variable', () => {
    writeFileSync(path, DATABASE.DATABASE_URL);
    expect(rejectionOf({ ...DATABASE, DATABASE_URL_FILE: path })).toMatch(
      /^DATABASE_URL_FILE .*only one of DATABASE_URL and DATABASE_URL_FILE$/,
    );
  });
});
