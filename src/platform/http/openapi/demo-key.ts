import { join } from 'node:path';
import { Injectable } from '@nestjs/common';
import { Settings } from '../../config/settings.js';
import type { Request } from '../request/request.js';

const LOOPBACK = /^(?:localhost|::1|127(?:\.\d{1,3}){3})$/;
/** Headers of proxies, content delivery networks and scripts. A browser that opens a page sends none. */
const FOREIGN_HEADER = /^(?:x-|cf-|fastly-|proxy-|true-client-ip|cdn-loop|forwarded|via|origin)/;

/** The demo API key, which the start prints and Swagger UI fills in for browsers on this machine. */
@Injectable()
export class DemoKey {
  /** Undefined without the demo data. */
  key: string | undefined;
  /** The path of a first request. */
  path = '/';
  /** The file that contains the key. */
  readonly file = join(this.settings.database.dataDir, 'demo-key');

  constructor(private readonly settings: Settings) {}

  offer(key: string, path: string): void {
    this.key = key;
    this.path = path;
  }

  /**
   * Returns the key if a browser on this machine has opened the page at the service's own loopback
   * address. Rejects DNS rebinding and proxies (another `Host`, HTTP/1.0, a forwarding header), and
   * pages of other sites (`Origin`, `Sec-Fetch-Site`). SECURITY.md says what remains.
   */
  for({ headers, httpVersion, originalUrl, socket }: Request): string | undefined {
    const { host, publicUrl, trustProxy } = this.settings.server;
    const isLocal =
      publicUrl === undefined &&
      trustProxy === 0 &&
      LOOPBACK.test(host) &&
      httpVersion === '1.1' &&
      originalUrl.startsWith('/') &&
      ['localhost', '127.0.0.1', '[::1]'].some(
        (name) => headers.host === `${name}:${socket.localPort}`,
      ) &&
      [undefined, 'none', 'same-origin'].includes(headers['sec-fetch-site']) &&
      !Object.keys(headers).some((name) => FOREIGN_HEADER.test(name));
    return isLocal ? this.key : undefined;
  }

  /**
   * Returns the text that a service with the embedded database prints when it listens: a first
   * request, or how to issue a key.
   */
  welcomeText(address: string): string {
    // A client cannot call the address for all interfaces.
    const url = address.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
    const next = this.key
      ? `Try it:\n\n  curl -H "Authorization: Bearer ${this.key}" ${url}${this.path}`
      : `There is no valid demo API key. To issue an API key:\n\n  npm run --silent cli -- keys issue --owner me --plan business`;
    return `\n${this.settings.product.title}: ${url}\nDocumentation: ${url}/docs\n\n${next}\n`;
  }
}
