import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';

export const hasOpenssl = spawnSync('openssl', ['version'], { stdio: 'ignore' }).status === 0;
if (!hasOpenssl) console.warn('To test TLS, install openssl (apt-get install openssl).');

/**
 * Creates a private key and a self-signed certificate.
 *
 * @param subjectName as OpenSSL takes it
 */
export function createCertificate(folder: string, subjectName = 'IP:127.0.0.1') {
  const key = join(folder, 'key.pem');
  const certificate = join(folder, 'certificate.pem');
  const name = `subjectAltName=${subjectName}`;
  const subject = ['-subj', '/CN=server', '-addext', name, '-days', '2'];
  const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', ...algorithm, ...subject, ...files], {
    stdio: 'ignore',
  });
  return { key, certificate };
}
