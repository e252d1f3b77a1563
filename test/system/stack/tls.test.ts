import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPostgresPrograms } from '../../harness/database/postgres-programs.js';
import { PostgresServer, USER } from '../../harness/database/postgres-server.js';
import { createCertificate, hasOpenssl } from '../../harness/processes/certificate.js';
import { startBuiltService } from '../../harness/service/service.js';

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
    server = await PostgresServer.create(programs!, { ssl: 'on', ssl_cert_file, ssl_key_file });
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
});
