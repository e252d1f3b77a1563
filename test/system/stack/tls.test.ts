import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostgresPrograms } from '../../harness/database/postgres-programs.js';
import { PostgresServer, USER } from '../../harness/database/postgres-server.js';
import { createCertificate, hasOpenssl } from '../../harness/processes/certificate.js';
import { Cli } from '../../harness/processes/command.js';
import { startBuiltService } from '../../harness/service/service.js';

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
    ['sslmode=verify-full&sslrootcert=FILE', false],
    ['sslmode=require', false],
    ['sslmode=verify-full&sslrootcert=system', true],
  ])('connects with %s, Node.js trusts the certificate: %s', async (parameters, isTrusted) => {
    const url = `${server.url}?${parameters.replace('FILE', files.certificate)}`;
    const trusted = isTrusted ? { NODE_EXTRA_CA_CERTS: files.certificate } : {};
    const service = await startBuiltService({ DATABASE_URL: url, ...trusted });
    try {
      const [row] = await server.query(
        `SELECT count(*)::int AS plain FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
          WHERE application_name LIKE 'pets%' AND NOT ssl`,
      );
      expect(row).toEqual({ plain: 0 });
      expect(service.logs().filter(({ level }) => Number(level) >= 40)).toEqual([]);
    } finally {
      await service.stop();
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
