import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { parseEnv } from 'node:util';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { PRODUCT } from '../../../src/product.js';
import { readSettings } from '../../../src/platform/config/environment-reader.js';
import { Settings } from '../../../src/platform/config/settings.js';
import { StartError } from '../../../src/platform/errors/start-error.js';
import { readProjectFile } from '../../harness/stack/compose-file.js';

const ADDRESS = 'postgres://user:secret@db:5432/pets';
const DATABASE = { DATABASE_URL: ADDRESS };
const FOLDER = mkdtempSync(join(tmpdir(), 'pets-settings-'));
/** A file with several certificates, as providers publish them. */
const CERTIFICATE = join(FOLDER, 'ca.pem');
writeFileSync(CERTIFICATE, `Two authorities\n${rootCertificates.slice(0, 2).join('\n')}\n`);
afterAll(() => rmSync(FOLDER, { recursive: true }));

function rejectionOf(environment: Record<string, string>): string {
  try {
    new Settings(PRODUCT, environment);
  } catch (error) {
    if (error instanceof StartError) return error.message;
    throw error;
  }
  throw new Error('the settings were accepted');
}

/** The settings that `.env.example` lists, each with its value there. */
const SHOWN = Object.entries(
  parseEnv(readProjectFile('.env.example').replaceAll(/^# (?=[A-Z_]+=)/gm, '')),
) as [name: string, value: string][];

/** Those that are unset by default. `.env.example` has examples of their values. */
const UNSET =
  /^(?:PUBLIC_URL|STAGING_URL|CLIENT_GUIDE_URL|DATABASE_(?:URL|PASSWORD)|REDIS_(?:URL|CA)|CORS_ORIGINS|NODE_ENV)/;

test('every setting has the default that .env.example shows', () => {
  const defaults = SHOWN.filter(([name]) => !UNSET.test(name));
  const settings = new Settings(PRODUCT, {});
  expect(settings).toEqual(new Settings(PRODUCT, Object.fromEntries(defaults)));
  expect(settings).toMatchObject({ database: { connection: undefined }, redis: undefined });
  expect(settings.server).toMatchObject({
    publicUrl: undefined,
    stagingUrl: undefined,
    corsOrigins: [],
    headersTimeoutMs: 10_000,
    requestTimeoutMs: 30_000,
    keepAliveTimeoutMs: 65_000,
    stalledConnectionTimeoutMs: 60_000,
  });
});

/** Returns the settings, or why they are rejected. */
function outcomeOf(environment: Record<string, string>): string {
  try {
    return JSON.stringify(new Settings(PRODUCT, environment));
  } catch (error) {
    return (error as StartError).message;
  }
}

test.each(SHOWN)('one line end at the end of %s is ignored', (name, value) => {
  for (const text of [value, '']) {
    const expected = outcomeOf({ [name]: text });
    for (const end of ['\n', '\r\n']) expect(outcomeOf({ [name]: `${text}${end}` })).toBe(expected);
  }
});

/** Passwords can contain any character. The last ones are settings of other programs than the service. */
const NOT_CHECKED =
  /^(?:DATABASE_PASSWORD|REDIS_CA|GRAFANA_PASSWORD|(?:NEW_)?CONNECTIONS_PER_.+|POSTGRES_CPUS)$/;

const CHECKED = SHOWN.filter(([name]) => !NOT_CHECKED.test(name));
/** White space around an item of a list is ignored. */
const isList = (name: string): boolean => /^(?:CORS_ORIGINS|REDIS_URL)$/.test(name);

const INVISIBLE = Array.from(' \t\0\u00a0\ufeff\u200b\u2003\u2060\u2028\ufe0f\u{e0001}');
const SPACES = INVISIBLE.filter((character) => character.trim() === '');

/** Settings of the first group decide whether those of the same name or NODE_ENV are read. */
const GROUPS = [/^(?!NODE_ENV$|.*_FILE$)/, /_FILE$/, /^NODE_ENV$/];

/** Returns the names and the places of invisible characters, as they are reported for all texts of a group at once. */
function reportedIn(texts: [name: string, text: string][]): string[] {
  const reports = GROUPS.flatMap((group) => {
    const environment = Object.fromEntries(texts.filter(([name]) => group.test(name)));
    // A reason can contain the text.
    const form =
      /(?<=^|\n)(\w+) is invalid: (?:[^\n]|\n(?!\w+ is invalid))*\. (Character \d+ is invisible: U\+[0-9A-F]+)(?=\n|$)/g;
    return [...rejectionOf(environment).matchAll(form)];
  });
  return reports.map(([, name, place]) => `${name}: ${place}`).sort();
}

test.each([...INVISIBLE, '\n\n'])(
  'an invisible character in any setting is reported: %j',
  (text) => {
    const code = text.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    const isIgnoredInLists = text.trim() === '';
    const settings = isIgnoredInLists ? CHECKED.filter(([name]) => !isList(name)) : CHECKED;
    const report = (name: string, index: number) =>
      `${name}: Character ${index} is invisible: U+${code}`;
    expect(reportedIn(settings.map(([name, value]) => [name, `${value}${text}`]))).toEqual(
      settings.map(([name, value]) => report(name, value.length + 1)).sort(),
    );
    expect(reportedIn(settings.map(([name, value]) => [name, `${text}${value}`]))).toEqual(
      settings.map(([name]) => report(name, 1)).sort(),
    );
  },
);

test.each(CHECKED.filter(([name]) => isList(name)))(
  'white space around an item of %s is ignored',
  (name, value) => {
    for (const space of SPACES) {
      const outcomes = [value, `${value}${space}`, `${space}${value}`].map((text) =>
        outcomeOf({ [name]: text }),
      );
      expect(new Set(outcomes).size).toBe(1);
    }
  },
);

test('an invisible character in a file is reported', () => {
  const path = join(FOLDER, 'invisible');
  writeFileSync(path, `${ADDRESS}\n\n`);
  expect(rejectionOf({ DATABASE_URL_FILE: path })).toMatch(
    RegExp(`^DATABASE_URL_FILE .*Character ${ADDRESS.length + 1} is invisible: U\\+000A$`),
  );
});

test.each<[name: string, value: string, group: keyof Settings, read: object]>([
  ['PORT', '', 'server', { port: 3000 }],
  ['METRICS_PORT', '', 'server', { metricsPort: undefined }],
  ['METRICS_PORT', '\n', 'server', { metricsPort: undefined }],
  ['TRUST_PROXY', '10.0.0.0/8, ::1', 'server', { trustProxy: ['10.0.0.0/8', '::1'] }],
  ['MAX_REQUESTS_IN_PROGRESS', '1', 'bounds', { maxUnauthenticatedRequests: 1 }],
  ['LOG_LEVEL', 'silent', 'logging', { level: 'silent' }],
  ['SHUTDOWN_DELAY_SECONDS', '0.25', 'server', { shutdownDelayMs: 250 }],
])('%s=%s is accepted', (name, value, group, read) => {
  expect(new Settings(PRODUCT, { [name]: value })[group]).toMatchObject(read);
});

test.each<[name: string, expected: RegExp, ...values: string[]]>([
  ['METRICS_PORT', /another port than PORT/, '3000'],
  ['PORT', /integer from 0 to 65535/, 'x', '-1', '65536', '1.5', '0x10', ' 80', '1e3', '+80'],
  [
    'PUBLIC_URL',
    /http or https address/,
    'example.org',
    '//example.org',
    'ftp://example.org',
    'https://example.org?a',
    'https://example.org#a',
    'https://user:secret@example.org',
    'https://example.org/a b',
    'https://example.org/v1',
    'https://example.org/store/v1/',
    'https://example.org/v1/.',
    'https://example.org/v1/a/..',
    'https://example.org\\v1',
    'https://example.org/%761',
    'https:///v1',
    'https://example.org:99999',
  ],
  ['STAGING_URL', /http or https address/, 'example.org', 'https://example.org/v1'],
  [
    'CLIENT_GUIDE_URL',
    /http or https address of a page/,
    'clients.md',
    'javascript:alert(1)',
    'file:///docs/clients.md',
    'https://user:secret@example.org/guide',
    'https://example.org/the guide',
    'https://example.org:99999',
  ],
  [
    'DATABASE_URL',
    /postgres:\/\//,
    `${ADDRESS}?port=99999`,
    `${ADDRESS}?port=5e3`,
    'db:5432',
    'mysql://db/pets',
    'postgres://db:x/pets',
    `${ADDRESS}?sslmode=verify-ca`,
    ...['sslmode=', 'sslmode=verify', 'SSLMODE=verify-full', 'sslca=/ca', 'ssl=require'].map(
      (parameter) => `${ADDRESS}?${parameter}`,
    ),
    'postgres://user:1?secret/2@db/pets',
    // As libpq: the authorities of the system say nothing about the owner of a host.
    ...['require', 'verify-ca', 'disable'].flatMap((mode) => [
      `${ADDRESS}?sslmode=${mode}&sslrootcert=system`,
      `${ADDRESS}?sslrootcert=system&sslmode=${mode}`,
    ]),
    `${ADDRESS}?sslnegotiation=direct`,
    `${ADDRESS}?sslmode=prefer&sslnegotiation=direct`,
    `${ADDRESS}?sslmode=require&sslnegotiation=tls`,
  ],
  ...[
    'require_auth=scram-sha-256',
    'gssencmode=require',
    'constructor=1',
    'krbsrvname=postgres',
    'hostaddr=10.0.0.1',
    'service=pets',
    'enableChannelBinding=true',
    'max=1',
  ].map((parameter): [string, RegExp, string] => [
    'DATABASE_URL',
    RegExp(`unknown parameter ${parameter.replace(/=.*/, '\\b')}`),
    `${ADDRESS}?sslmode=require&${parameter}`,
  ]),
  ...['keepalives_interval=10', 'keepalives_count=3', 'tcp_user_timeout=20000'].map(
    (parameter): [string, RegExp, string] => [
      'DATABASE_URL',
      RegExp(`\\(Node\\.js cannot set ${parameter.replace(/=.*/, '')}, remove it\\)$`),
      `${ADDRESS}?${parameter}`,
    ],
  ),
  ...[
    'channel_binding=always',
    'target_session_attrs=writable',
    'connect_timeout=5s',
    'keepalives=yes',
    'keepalives_idle=-1',
  ].map((parameter): [string, RegExp, string] => [
    'DATABASE_URL',
    RegExp(`\\(${parameter.replace('=', ' cannot be ')}\\)$`),
    `${ADDRESS}?${parameter}`,
  ]),
  ...['read-only', 'standby', 'prefer-standby'].map((target): [string, RegExp, string] => [
    'DATABASE_URL',
    RegExp(`\\(target_session_attrs cannot be ${target}, because the service writes\\)$`),
    `${ADDRESS}?target_session_attrs=${target}`,
  ]),
  ...[
    'postgres://db1,db2/pets',
    'postgres://pets:a,b@db1:5432,db2:5433/pets?target_session_attrs=read-write',
    'postgres:///pets?host=db1,db2',
    'postgres:///pets?host=db1%2Cdb2',
  ].map((address): [string, RegExp, string] => [
    'DATABASE_URL',
    /\(several hosts: use a name or a proxy that leads to the primary\)$/,
    address,
  ]),
  ['DATABASE_URL', /\(ENOENT.*\)$/, `${ADDRESS}?sslmode=verify-ca&sslrootcert=/none`],
  [
    'REDIS_URL',
    /redis:\/\/user:password@host:6379.*Cluster/,
    'redis',
    'redis:6379',
    'http://redis',
    'redis://',
    'redis://redis:x',
    'redis://redis/db',
    'redis://redis/1/2',
    'redis://redis?tls=true',
    'redis://redis#a',
    'redis://:%ff@a',
    'redis://a,redis://%c3:b@c',
    'redis://a,b',
    'redis://a,',
    'redis://a redis://b',
    'redis://a/1,redis://b/1',
    'redis://a,redis://b/1',
    'redis://:se%cret@a',
  ],
  [
    'REDIS_PREFIX',
    /without braces and white space/,
    '{a}',
    'a}',
    'a b',
    'a\n\n',
    'a\u0007',
    'a'.repeat(101),
  ],
  ['REDIS_COMMAND_TIMEOUT_SECONDS', /seconds from 0.01 to 1/, '0', '1.1', '100ms'],
  ['MAX_REQUESTS_IN_PROGRESS', /integer from 1 to 100000/, '0', '100001', '1e3'],
  ['MIGRATE_ON_START', /one of true, false/, 'yes', '1', 'TRUE'],
  [
    'TRUST_PROXY',
    /number of proxies, or their addresses/,
    'true',
    '-1',
    '10.0.0',
    '10.0.0.0/33',
    '::1/129',
    'proxy',
    '1,2',
    '0.0.0.0/0',
    '::/0',
    '10.0.0.0/00',
    '::ffff:10.0.0.0/95',
    '64:ff9b::192.0.2.1',
  ],
  ['ANONYMOUS_REQUESTS_PER_MINUTE', /integer from 1/, '0', 'none'],
  ['BAN_AFTER_REJECTIONS', /integer from 0/, '-1', 'never'],
  ['BAN_SECONDS', /seconds from 0/, '-1', '5m', '1.2345'],
  [
    'CORS_ORIGINS',
    /comma-separated, without a wildcard \(\*\): list each origin with its port$/,
    '*',
    'https://*.example.org',
    'http://localhost:*',
    'https://a.example, *',
  ],
  [
    'CORS_ORIGINS',
    /comma-separated, without a slash or path at the end: https:\/\/app\.example\.org$/,
    'https://app.example.org/',
    'https://a.example,https://app.example.org/shop',
    'https://user:secret@app.example.org/',
  ],
  [
    'CORS_ORIGINS',
    /comma-separated, written as browsers send them: https:\/\/app\.example\.org$/,
    'https://App.example.org',
    'https://app.example.org:443',
    'HTTPS://app.example.org?x=1',
  ],
  [
    'CORS_ORIGINS',
    /comma-separated, each an address with http:\/\/ or https:\/\/$/,
    'app.example.org',
    'localhost:5173',
    'null',
    'capacitor://localhost',
    'ws://a.example',
    'https://a.example, b',
    'https://',
    'http://a:x',
  ],
  ['LOG_LEVEL', /one of trace, debug, info, warn, error, fatal, silent/, 'verbose', 'INFO', '30'],
  ['SHUTDOWN_DELAY_SECONDS', /seconds from 0 to 600/, '-1', '601', '5s'],
  ['HEADERS_TIMEOUT_SECONDS', /seconds from 0.1 to 600/, '0', '601'],
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

test.each([
  ['redis://[::1]:7000/3', 3, ['redis://[::1]:7000/3']],
  [
    'rediss://:secret@a:7000, rediss://:secret@b/0',
    0,
    ['rediss://:secret@a:7000', 'rediss://:secret@b/0'],
  ],
])(
  'REDIS_URL=%s is accepted, with a prefix, a time limit and a certificate',
  (url, index, urls) => {
    const address = { urls, database: index };
    const defaults = {
      ...address,
      ca: undefined,
      prefix: PRODUCT.redisPrefix,
      commandTimeoutMs: 100,
    };
    expect(new Settings(PRODUCT, { REDIS_URL: url }).redis).toMatchObject(defaults);
    const [ca = ''] = rootCertificates;
    const own = { REDIS_CA: ca, REDIS_PREFIX: 'pets/1:', REDIS_COMMAND_TIMEOUT_SECONDS: '0.25' };
    expect(new Settings(PRODUCT, { REDIS_URL: url, ...own }).redis).toMatchObject({
      ...address,
      ca,
      prefix: 'pets/1:',
      commandTimeoutMs: 250,
    });
  },
);

test.each([
  [{ MAX_UNAUTHENTICATED_REQUESTS: '1001' }, 'MAX_REQUESTS_IN_PROGRESS'],
  [
    { MAX_UNAUTHENTICATED_REQUESTS: '3', MAX_REQUESTS_IN_PROGRESS: '2' },
    'MAX_REQUESTS_IN_PROGRESS',
  ],
  [{ MAX_REQUESTS_IN_PROGRESS: '3', MAX_CONNECTIONS: '2' }, 'MAX_CONNECTIONS'],
  [{ HEADERS_TIMEOUT_SECONDS: '31' }, 'REQUEST_TIMEOUT_SECONDS'],
  [{ HEADERS_TIMEOUT_SECONDS: '2', REQUEST_TIMEOUT_SECONDS: '1.5' }, 'REQUEST_TIMEOUT_SECONDS'],
])('a limit that would never apply is rejected: %j', (environment, larger) => {
  const [name] = Object.keys(environment);
  expect(rejectionOf(environment)).toBe(`${name} is invalid: expected at most ${larger}`);
});

test('the default of a limit is not above another limit', () => {
  const { bounds, server } = new Settings(PRODUCT, {
    MAX_CONNECTIONS: '3',
    REQUEST_TIMEOUT_SECONDS: '2',
  });
  expect(bounds).toMatchObject({ maxRequestsInProgress: 3, maxUnauthenticatedRequests: 2 });
  expect(server.headersTimeoutMs).toBe(2_000);
  const { wantedConnections } = new Settings(PRODUCT, { MAX_REQUESTS_IN_PROGRESS: '20000' }).bounds;
  expect(wantedConnections).toBe(20_000);
});

describe('DATABASE_URL', () => {
  const ca = readFileSync(CERTIFICATE, 'utf8');
  const checkServerIdentity = expect.any(Function);

  test.each([
    ['', undefined],
    ['?sslmode=disable', false],
    ['?sslmode=prefer', { rejectUnauthorized: false }],
    ['?sslmode=require', { rejectUnauthorized: false }],
    [`?sslmode=require&sslrootcert=${CERTIFICATE}`, { ca, checkServerIdentity }],
    [`?sslmode=verify-ca&sslrootcert=${CERTIFICATE}`, { ca, checkServerIdentity }],
    [`?sslmode=verify-full&sslrootcert=${CERTIFICATE}`, { ca }],
    [`?sslmode=disable&sslrootcert=${CERTIFICATE}`, false],
    ['?sslmode=verify-full', {}],
    ['?sslmode=verify-full&sslrootcert=system', {}],
    ['?sslrootcert=system&sslmode=verify-full', {}],
    ['?sslrootcert=system', {}],
    ['?sslrootcert=system&sslnegotiation=direct', true],
  ])('has the TLS that libpq uses for it: %s', (parameters, ssl) => {
    const { connection } = new Settings(PRODUCT, { DATABASE_URL: `${ADDRESS}${parameters}` })
      .database;
    expect(connection?.ssl).toEqual(ssl);
  });

  /** In the form of the addresses that each provider shows. */
  test.each<[provider: string, address: string, expected: object, ssl: unknown]>([
    [
      'Neon',
      'postgresql://alex:AbC123dEf@ep-cool-a1b2c3d4.us-east-2.aws.neon.tech/pets?sslmode=verify-full&sslrootcert=system',
      { user: 'alex', host: 'ep-cool-a1b2c3d4.us-east-2.aws.neon.tech', port: 5432 },
      {},
    ],
    [
      'Neon, by default',
      'postgresql://alex:AbC123dEf@ep-cool-a1b2c3d4-pooler.us-east-2.aws.neon.tech/pets?sslmode=require&channel_binding=require',
      { user: 'alex', enableChannelBinding: true },
      { rejectUnauthorized: false },
    ],
    [
      'Neon, for clients without server names',
      'postgresql://alex:AbC123dEf@ep-cool.aws.neon.tech/pets?sslmode=require&options=endpoint%3Dep-cool',
      { connectionParameters: { options: 'endpoint=ep-cool' } },
      { rejectUnauthorized: false },
    ],
    [
      'Crunchy Bridge',
      'postgres://application:Ab1@p.abcdefghij.db.postgresbridge.com:5432/pets?sslmode=verify-full&sslrootcert=system',
      { user: 'application', host: 'p.abcdefghij.db.postgresbridge.com' },
      {},
    ],
    [
      'PlanetScale',
      'postgresql://role.branch:pscale_pw_1@aws-us-east-1-1.pg.psdb.cloud:6432/pets?sslmode=verify-full&sslrootcert=system&sslnegotiation=direct',
      { user: 'role.branch', port: 6432, sslNegotiation: 'direct' },
      {},
    ],
    [
      'Supabase',
      'postgresql://postgres.abcdefgh:[YOUR-PASSWORD]@aws-0-ca-central-1.pooler.supabase.com:6543/pets',
      { user: 'postgres.abcdefgh', password: '[YOUR-PASSWORD]', port: 6543 },
      false,
    ],
    [
      'Amazon RDS and Aurora',
      `postgresql://app:pw@pets.c9akciq32.eu-west-1.rds.amazonaws.com:5432/pets?sslmode=verify-full&sslrootcert=${CERTIFICATE}`,
      { host: 'pets.c9akciq32.eu-west-1.rds.amazonaws.com' },
      { ca },
    ],
    [
      'Google Cloud SQL',
      'postgresql://app:pw@/pets?host=/cloudsql/project:europe-west1:instance',
      { host: '/cloudsql/project:europe-west1:instance', port: 5432 },
      false,
    ],
    [
      'Azure Database',
      'postgres://app%40pets:{your_password}@pets.postgres.database.azure.com/pets?sslmode=require',
      { user: 'app@pets', password: '{your_password}' },
      { rejectUnauthorized: false },
    ],
    [
      'Aiven',
      'postgres://avnadmin:AVNS_1@pg-1.project.aivencloud.com:12691/pets?sslmode=require',
      { user: 'avnadmin', port: 12691 },
      { rejectUnauthorized: false },
    ],
    [
      'Heroku',
      'postgres://uabc:p1@ec2-1-2-3-4.compute-1.amazonaws.com:5432/pets',
      { user: 'uabc', host: 'ec2-1-2-3-4.compute-1.amazonaws.com' },
      false,
    ],
    [
      'DigitalOcean',
      'postgresql://doadmin:AVNS_1@db-do-user-1-0.b.db.ondigitalocean.com:25060/pets?sslmode=require',
      { user: 'doadmin', port: 25060 },
      { rejectUnauthorized: false },
    ],
    [
      'Scaleway',
      'postgresql://app:pw@01234567-89ab.pg.sdb.fr-par.scw.cloud:5432/pets?sslmode=verify-full&sslrootcert=system',
      { host: '01234567-89ab.pg.sdb.fr-par.scw.cloud' },
      {},
    ],
    [
      'CockroachDB',
      `postgresql://app@localhost:26257/pets?ssl=true&sslmode=require&sslrootcert=${CERTIFICATE}`,
      { port: 26257 },
      { ca, checkServerIdentity },
    ],
  ])('is accepted in the form that %s shows', (_, address, expected, ssl) => {
    const { connection } = new Settings(PRODUCT, { DATABASE_URL: address }).database;
    expect(new pg.Client(connection)).toMatchObject({ database: 'pets', ...expected });
    expect(new pg.Client(connection).ssl).toEqual(ssl);
  });

  const privateKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' });

  test.each([
    ['sslrootcert', ca],
    ['sslcert', ca],
    ['sslkey', String(key)],
  ])('has the text of the file of %s, which must be complete', (name, text) => {
    const read = (bytes: string | Buffer) => {
      writeFileSync(join(FOLDER, 'text'), bytes);
      return { DATABASE_URL: `${ADDRESS}?${name}=${join(FOLDER, 'text')}` };
    };
    const { connection } = new Settings(PRODUCT, read(`\ufeff${text}`)).database;
    expect(Object.values(connection?.ssl ?? {})).toContain(text);
    const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le');
    expect(rejectionOf(read(utf16))).toMatch(/^DATABASE_URL .*text in UTF-8\)$/);
    const firstEnd = text.indexOf('-----END');
    for (const part of [text.slice(0, firstEnd), text.slice(0, firstEnd - 70), '', 'other'])
      expect(rejectionOf(read(part))).toMatch(/^DATABASE_URL is invalid: .*\)$/);
  });

  test('has a private key that belongs to its certificate', () => {
    writeFileSync(join(FOLDER, 'key'), key);
    const files = `sslcert=${CERTIFICATE}&sslkey=${join(FOLDER, 'key')}`;
    expect(rejectionOf({ DATABASE_URL: `${ADDRESS}?${files}` })).toMatch(
      /does not belong to the certificate\)$/,
    );
  });

  test('is needed in production without DATA_DIR', () => {
    const production = { NODE_ENV: 'production' };
    expect(rejectionOf(production)).toMatch(/^DATABASE_URL is invalid: expected .* or DATA_DIR /);
    expect(rejectionOf({ ...production, DATABASE_URL_FILE: '/none' })).not.toContain('\n');
    for (const environment of [{ DATA_DIR: '/data' }, DATABASE])
      expect(() => new Settings(PRODUCT, { ...production, ...environment })).not.toThrow();
  });
});

describe('DATABASE_PASSWORD', () => {
  /** A password as `openssl rand -base64` and people create them. */
  const password = 'a/b+c=@:?# %41%';

  test.each<[url: string, expected: Record<string, unknown>]>([
    ['postgres://user@db:5432/pets', { host: 'db', port: 5432, password }],
    ['postgres://user@db/pets?sslmode=disable', { host: 'db', password }],
    ['postgres:///pets?host=/run/postgresql&user=user', { host: '/run/postgresql', password }],
    ['postgres://user:other@db/pets', { host: 'db', password: 'other' }],
  ])('is the password of an address that contains none: %s', (url, expected) => {
    const { database } = new Settings(PRODUCT, { DATABASE_URL: url, DATABASE_PASSWORD: password });
    expect(new pg.Client(database.connection)).toMatchObject({
      user: 'user',
      database: 'pets',
      ...expected,
    });
  });
});

describe('a secret from a file', () => {
  const path = join(FOLDER, 'secret');

  test.each(['', '\n', '\r\n'])('is read without the line end %j', (end) => {
    writeFileSync(path, ` a/b+c= ${end}`);
    const environment = { DATABASE_URL: 'postgres://db/pets', DATABASE_PASSWORD_FILE: path };
    expect(new Settings(PRODUCT, environment).database.connection?.password).toBe(' a/b+c= ');
  });

  test.each(['DATABASE_URL', 'DATABASE_PASSWORD', 'REDIS_URL', 'REDIS_CA'])(
    'is read without a byte order mark, and another encoding or NUL is rejected: %s_FILE',
    (name) => {
      const read = (bytes: string | Buffer) => {
        writeFileSync(path, bytes);
        const environment = { ...DATABASE, REDIS_URL: 'redis://a', [`${name}_FILE`]: path };
        return Object.fromEntries(Object.entries(environment).filter(([other]) => other !== name));
      };
      const [ca = ''] = rootCertificates;
      const text =
        name === 'REDIS_CA' ? ca : `${name.startsWith('REDIS') ? 'redis' : 'postgres'}://b`;
      const { redis, database } = new Settings(PRODUCT, read(`\ufeff${text}\n`));
      expect(JSON.stringify([redis, database])).not.toContain('\ufeff');
      const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le');
      for (const bytes of [utf16, Buffer.from(utf16).swap16(), utf16.subarray(2), `${text}\0`]) {
        const rejection = rejectionOf(read(bytes));
        expect(rejection).toMatch(new RegExp(`^${name}_FILE is invalid: [^\n]*$`));
        expect(rejection).toContain(`(${path} is not text in UTF-8)`);
      }
    },
  );

  test('can be the address of PostgreSQL or Redis', () => {
    writeFileSync(path, ADDRESS);
    expect(new Settings(PRODUCT, { DATABASE_URL_FILE: path }).database.connection?.password).toBe(
      'secret',
    );
    writeFileSync(path, 'redis://:secret@redis\n');
    expect(new Settings(PRODUCT, { REDIS_URL_FILE: path }).redis?.urls).toEqual([
      'redis://:secret@redis',
    ]);
  });

  test.each(['DATABASE_URL', 'DATABASE_PASSWORD', 'REDIS_URL', 'REDIS_CA'])(
    'that is empty or cannot be read is rejected: %s_FILE',
    (name) => {
      for (const text of ['', '\n']) {
        writeFileSync(path, text);
        for (const file of [path, FOLDER, join(FOLDER, 'none')]) {
          const rejection = rejectionOf({ [`${name}_FILE`]: file });
          expect(rejection).toMatch(
            new RegExp(`^${name}_FILE is invalid: .* a readable file that is not empty \\(.+\\)$`),
          );
          expect(rejection).toContain(file === FOLDER ? 'EISDIR' : file);
        }
      }
    },
  );

  test('is rejected together with the variable', () => {
    writeFileSync(path, ADDRESS);
    expect(rejectionOf({ ...DATABASE, DATABASE_URL_FILE: path })).toMatch(
      /^DATABASE_URL_FILE .*only one of DATABASE_URL and DATABASE_URL_FILE$/,
    );
  });
});

describe('the credentials of a new connection', () => {
  const [firstCa = '', secondCa = ''] = rootCertificates;
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  /** The settings import it for a warning. */
  const loggerIsLoaded = () => import('@nestjs/common');
  afterEach(() => warn.mockClear());
  afterAll(() => warn.mockRestore());

  function file(name: string, text = ''): string {
    const path = join(FOLDER, name);
    writeFileSync(path, text);
    return path;
  }

  test.each<
    [
      title: string,
      first: string,
      second: string,
      invalid: string[],
      of: (path: string) => () => unknown,
    ]
  >([
    [
      'DATABASE_PASSWORD_FILE',
      'one\n',
      'two\n',
      ['', '\n'],
      (path) => {
        const environment = { DATABASE_URL: 'postgres://user@db', DATABASE_PASSWORD_FILE: path };
        const { connection } = new Settings(PRODUCT, environment).database;
        return () => connection?.credentials?.().password;
      },
    ],
    [
      'the user and the password in DATABASE_URL_FILE',
      'postgres://one:1@db',
      'postgres://two:2@db',
      ['', 'postgres://two:2@'],
      (path) => {
        const { connection } = new Settings(PRODUCT, { DATABASE_URL_FILE: path }).database;
        return () => connection?.credentials?.();
      },
    ],
    [
      'sslrootcert',
      firstCa,
      `${firstCa}\n${secondCa}`,
      ['', firstCa.slice(0, -30), `${firstCa}\n${secondCa.slice(0, 500)}`],
      (path) => {
        const environment = { DATABASE_URL: `${ADDRESS}?sslmode=verify-full&sslrootcert=${path}` };
        const { connection } = new Settings(PRODUCT, environment).database;
        return () => connection?.credentials?.().ssl;
      },
    ],
    [
      'the user and the password in REDIS_URL_FILE',
      'redis://one:%2B@redis',
      'redis://two:2@redis',
      ['', 'redis://two:2@'],
      (path) => new Settings(PRODUCT, { REDIS_URL_FILE: path }).redis!.credentials,
    ],
    [
      'REDIS_CA_FILE',
      firstCa,
      secondCa,
      ['', secondCa.slice(0, -30)],
      (path) =>
        new Settings(PRODUCT, { REDIS_URL: 'rediss://redis', REDIS_CA_FILE: path }).redis!
          .credentials,
    ],
  ])('are what the file says now, or said last: %s', async (title, first, second, invalid, of) => {
    const path = file('renewed', first);
    const current = of(path);
    const before = current();
    for (const text of invalid) {
      file('renewed', text);
      expect(current()).toEqual(before);
      expect(current()).toEqual(before);
      await loggerIsLoaded();
      expect(warn.mock.lastCall).toEqual([expect.stringMatching(/ is invalid: .*stays in use\.$/)]);
    }
    rmSync(path);
    expect(current()).toEqual(before);
    await loggerIsLoaded();
    const lines = new Set(warn.mock.calls.map(([line]) => String(line)));
    expect(warn.mock.calls).toHaveLength(lines.size);
    file('renewed', second);
    expect(current()).not.toEqual(before);
    expect(current()).toEqual(of(path)());
  });
});

test('readSettings › text and secret have a default, as the other settings of a feature', () => {
  const environment = { TOYS_URL: '', TOYS_COLOR: 'blue' };
  const read = readSettings(
    (settings) => [
      settings.text('TOYS_URL', 'http://toys'),
      settings.text('TOYS_COLOR', 'red'),
      settings.secret('TOYS_KEY', 'none'),
      settings.text('TOYS_URL'),
      settings.secret('TOYS_KEY'),
    ],
    environment,
  );
  expect(read).toEqual(['http://toys', 'blue', 'none', undefined, undefined]);
});
