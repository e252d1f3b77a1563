import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { useDatabase } from '../../harness/database/database.js';
import { send } from '../../harness/http/client.js';
import { createCertificate, hasOpenssl } from '../../harness/processes/certificate.js';
import { freePort } from '../../harness/processes/free-port.js';
import { findHaproxy, type Haproxy, startHaproxy } from '../../harness/processes/haproxy.js';
import { type NameServer, startNameServer } from '../../harness/processes/name-server.js';
import { startBuiltService } from '../../harness/service/service.js';

// Only Linux routes all of 127.0.0.0/8 by default.
const command = process.platform === 'linux' && hasOpenssl ? findHaproxy() : undefined;

const HSTS = 'strict-transport-security';

(command ? describe : describe.skip)('deploy/haproxy.cfg with a certificate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pets-haproxy-'));
  let names: NameServer;
  let haproxy: Haproxy;
  let port: number;
  let ca: string;

  // Before the end of the replica, to which HAProxy keeps connections.
  afterAll(async () => {
    await haproxy.stop();
    await names.close();
    rmSync(folder, { recursive: true });
  });
  const database = useDatabase();

  beforeAll(async () => {
    const { key, certificate } = createCertificate(folder);
    ca = readFileSync(certificate, 'utf8');
    const pem = join(folder, 'server.pem');
    writeFileSync(pem, ca + readFileSync(key, 'utf8'));
    names = await startNameServer(['127.0.0.1']);
    const replica = await startBuiltService({ DATABASE_URL: database.url, TRUST_PROXY: '1' });
    port = await freePort();
    haproxy = await startHaproxy(command!, {
      REPLICAS: `replica.test:${new URL(replica.url).port}`,
      DNS_SERVER: names.address,
      TLS_ADDRESS: `127.0.0.1:${port}`,
      CERTIFICATES: pem,
    });
  }, 60_000);

  function fetchHttps(path: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, path, ca, agent: false }, (response) => {
        response.resume().on('end', () => resolve(response));
      }).on('error', reject);
    });
  }

  function handshake(options: ConnectionOptions): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, ca, ...options }, () => resolve(socket));
      socket.on('error', reject);
    });
  }

  test('GET over HTTPS › the response of a replica, with Strict-Transport-Security', async () => {
    const { statusCode, headers } = await fetchHttps('/v1/pets');
    expect(statusCode).toBe(401);
    expect(headers['x-ratelimit-limit']).toBe('300');
    expect(headers[HSTS]).toBe('max-age=31536000');
  });

  test('GET over HTTP › no Strict-Transport-Security', async () => {
    const { status, headers } = await send(haproxy, '/v1/pets');
    expect(status).toBe(401);
    expect(headers).not.toHaveProperty(HSTS);
  });

  test('TLS 1.1 is rejected', async () => {
    const ciphers = 'DEFAULT:@SECLEVEL=0';
    await expect(
      handshake({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers }),
    ).rejects.toThrow(/alert protocol version|handshake failure/);
  });

  test('a client that offers HTTP/2 gets HTTP/1.1', async () => {
    const socket = await handshake({ ALPNProtocols: ['h2', 'http/1.1'] });
    expect(socket.alpnProtocol).toBe('http/1.1');
    socket.destroy();
  });
});
