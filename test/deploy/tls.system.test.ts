import {
  chownSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOwner } from '../harness/database/factories.js';
import { findPostgresPrograms } from '../harness/database/postgres-programs.js';
import { PostgresServer, USER } from '../harness/database/postgres-server.js';
import { createCertificate, hasOpenssl } from '../harness/processes/certificate.js';
import { Cli } from '../harness/processes/command.js';
import { ApiClient } from '../harness/http/client.js';
import { until } from '../harness/run/until.js';
import { startBuiltService, startService } from '../harness/service/service.js';

/** Roles, and how PostgreSQL authenticates them. */
const ROLES = [
  ['postgres', 'trust'],
  ['role_scram', 'scram-sha-256'],
  ['role_md5', 'md5'],
  ['role_password', 'password'],
] as const;

const programs = findPostgresPrograms();
const folder = mkdtempSync(join(tmpdir(), 'pets-tls-'));
let files: { key: string; certificate: string };

beforeAll(() => {
  if (hasOpenssl) files = createCertificate(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

(hasOpenssl && programs ? describe : describe.skip)('DATABASE_URL with TLS', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    // PostgreSQL reads a private key only if its own user owns it.
    if (USER.uid !== undefined) {
      for (const path of [folder, files.key]) chownSync(path, USER.uid, USER.gid);
    }
    const { certificate: ssl_cert_file, key: ssl_key_file } = files;
    const hba_file = join(folder, 'pg_hba.conf');
    const rules = ROLES.map(([role, method]) => `host all ${role} all ${method}\n`);
    writeFileSync(hba_file, rules.join(''));
    const settings = { ssl: 'on', ssl_cert_file, ssl_key_file, hba_file };
    server = await PostgresServer.create(programs!, settings);
  });
  afterAll(() => server.remove());

  test.each([
    'sslmode=verify-full&sslrootcert=FILE',
    'sslmode=require',
    // Node.js trusts the certificate.
    'sslmode=verify-full&sslrootcert=system',
  ])('connects with %s', async (parameters) => {
    const DATABASE_URL = `${server.url}?${parameters.replace('FILE', files.certificate)}`;
    const service = parameters.endsWith('system')
      ? await startBuiltService({ DATABASE_URL, NODE_EXTRA_CA_CERTS: files.certificate })
      : await startService({ database: server.database, env: { DATABASE_URL } });
    try {
      const [row] = await server.query(
        `SELECT count(*)::int AS plain FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
          WHERE application_name LIKE 'pets%' AND NOT ssl`,
      );
      expect(row).toEqual({ plain: 0 });
      expect(service.logs().filter(({ level }) => Number(level) >= 40)).toEqual([]);
    } finally {
      await ('stop' in service ? service.stop() : service.close());
    }
  });

  test('channel_binding=require connects only with channel binding', async () => {
    for (const [role, method] of ROLES.slice(1)) {
      const encryption = method === 'md5' ? 'md5' : 'scram-sha-256';
      await server.query(
        `SET password_encryption = '${encryption}'; CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD 'secret'`,
      );
    }
    const status = async (role: string, parameters: string) => {
      const url = new URL(`${server.url}?${parameters}`);
      Object.assign(url, { username: role, password: 'secret' });
      const { code, stderr } = await new Cli({ DATABASE_URL: url.href }).run('db', 'status');
      return code === 0 ? 'connected' : stderr;
    };
    const required = 'sslmode=require&channel_binding=require';
    expect(await status('role_scram', required)).toBe('connected');
    const rejected = expect.stringContaining('the server offers no channel binding');
    for (const role of ['role_md5', 'role_password', 'postgres']) {
      expect(await status(role, 'sslmode=require&channel_binding=prefer')).toBe('connected');
      expect(await status(role, required)).toEqual(rejected);
    }
    expect(await status('role_scram', 'channel_binding=require')).toEqual(rejected);
  });
});

(hasOpenssl && programs ? describe : describe.skip)('files of DATABASE_URL', () => {
  let server: PostgresServer;
  afterAll(() => server.remove());

  test('are read for each connection, and the last complete ones while they are written', async () => {
    const create = (name: string) => createCertificate(mkdtempSync(join(folder, name)));
    const [oldServer, newServer] = [create('server'), create('server')];
    const [oldClient, newClient] = [create('client'), create('client')];
    const [access, authority, certificate, key, password] = [
      'hba',
      'ca',
      'cert',
      'key',
      'password',
    ].map((name) => join(folder, name)) as [string, string, string, string, string];
    writeFileSync(
      access,
      `hostssl all app 127.0.0.1/32 scram-sha-256 clientcert=verify-ca
       host all postgres 127.0.0.1/32 trust`,
    );
    copyFileSync(oldServer.certificate, authority);
    copyFileSync(oldClient.certificate, certificate);
    copyFileSync(oldClient.key, key);
    writeFileSync(password, 'old');
    if (USER.uid !== undefined) {
      for (const path of [
        folder,
        ...readdirSync(folder).map((name) => join(folder, name)),
        oldServer.key,
      ])
        chownSync(path, USER.uid, USER.gid);
    }
    server = await PostgresServer.create(programs!, {
      ssl: 'on',
      ssl_cert_file: oldServer.certificate,
      ssl_key_file: oldServer.key,
      ssl_ca_file: oldClient.certificate,
      hba_file: access,
    });
    await server.query(`CREATE ROLE app SUPERUSER LOGIN PASSWORD 'old'`);
    const { key: apiKey } = await createOwner(server.database);
    const url = server.url.replace('postgres@', 'app@');
    const files = `sslrootcert=${authority}&sslcert=${certificate}&sslkey=${key}`;
    const service = await startService({
      database: server.database,
      env: {
        DATABASE_URL: `${url}?sslmode=verify-full&${files}`,
        DATABASE_PASSWORD_FILE: password,
      },
    });
    const client = new ApiClient(service, apiKey);
    /** Whether new connections serve requests and readiness. */
    const reconnects = async () => {
      await server.query(
        `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'app'`,
      );
      const responses = [await client.get('/v1/items'), await client.get('/health/ready')];
      return responses.every(({ status }) => status === 200);
    };

    for (const path of [authority, certificate, key, password])
      writeFileSync(path, readFileSync(path).subarray(0, -50));
    await until(reconnects);
    await service.waitForLog(({ msg }) => /DATABASE_.* stays in use/.test(String(msg)));

    await server.query(`ALTER ROLE app PASSWORD 'new'`);
    copyFileSync(newServer.certificate, oldServer.certificate);
    copyFileSync(newServer.key, oldServer.key);
    copyFileSync(newClient.certificate, oldClient.certificate);
    await server.query('SELECT pg_reload_conf()');
    copyFileSync(newServer.certificate, authority);
    copyFileSync(newClient.certificate, certificate);
    copyFileSync(newClient.key, key);
    writeFileSync(password, 'new');
    await until(reconnects);
    await service.close();
  });
});
